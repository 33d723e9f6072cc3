#!/usr/bin/env bash
# Everything that settles tasks, at once and at random, for five seconds: no deadlock, no error, all invariants hold.
. "$(dirname "$0")/../../support/sql_sessions.bash"

sql -f "$here/engine.psql"
sql <<'SQL'
select pgflow.configure_events('{}') \g /dev/null
select pgflow.ensure_flow_compiled('storm', '{"options": {"maxAttempts": 2, "baseDelay": 0, "timeout": 1}, "steps": [
  {"slug": "m", "dependencies": [], "stepType": "map", "whenExhausted": "skip"},
  {"slug": "x", "dependencies": [], "whenExhausted": "skip-cascade"},
  {"slug": "y", "dependencies": [], "options": {"maxAttempts": 3}},
  {"slug": "n", "dependencies": ["m"], "stepType": "map", "whenExhausted": "skip-cascade"},
  {"slug": "z", "dependencies": ["n", "x"], "whenExhausted": "skip"},
  {"slug": "end", "dependencies": ["z", "y"]}]}') \g /dev/null

-- Five seconds, longer on a slow machine until runs have ended in both ways.
create table t.began as select clock_timestamp() as at;
create function t.over() returns boolean language sql as $$
  select clock_timestamp() > at + interval '5 s'
      and (
        (select count(distinct status) from pgflow.runs where status <> 'started') = 2
        or clock_timestamp() > at + interval '60 s'
      )
    from t.began
$$;

-- Started tasks of several runs, as a batch that anybody might settle.
create function t.some_items(p_many int) returns jsonb language sql as $$
  select jsonb_agg(jsonb_build_object('run_id', run_id, 'step_slug', step_slug, 'task_index', task_index, 'output', '1', 'error', 'e', 'permanent', random() < 0.1))
    from (select * from pgflow.step_tasks where status = 'started' order by random() limit p_many) x
$$;

create procedure t.starter() language plpgsql as $$
begin
  while not t.over() loop
    -- Few runs, so that many meet in each.
    if (select count(*) from pgflow.runs where status = 'started') < 12 then
      perform pgflow.start_flow('storm', '[1, 2, 3, 4]');
    end if;
    commit;
  end loop;
end $$;

-- A worker with a new identity each round, which completes, fails, gives back or forgets what it claims.
create procedure t.worker_loop(p_fused boolean) language plpgsql as $$
declare
  v_worker uuid;
  v_ids bigint[];
  v_items jsonb;
  v_dice float;
begin
  while not t.over() loop
    v_worker := gen_random_uuid();
    perform pgflow.register_worker(v_worker, 'storm', 'storm');
    commit;
    if p_fused then
      perform pgflow.read_and_claim('storm', 'storm', null, v_worker, 20);
    else
      v_ids := array(select msg_id from pgmq.read('storm', 1, 20));
      commit;
      perform pgflow.start_tasks('storm', v_ids, v_worker, 'storm');
    end if;
    commit;
    select jsonb_agg(jsonb_build_object('run_id', run_id, 'step_slug', step_slug, 'task_index', task_index, 'attempt', attempts_count, 'output', '1', 'error', 'e'))
      into v_items from pgflow.step_tasks where last_worker_id = v_worker and status = 'started';
    continue when v_items is null;
    v_dice := random();
    if v_dice < 0.6 then
      perform pgflow.complete_tasks(v_items, v_worker);
    elsif v_dice < 0.75 then
      perform pgflow.fail_tasks(v_items, v_worker);
    elsif v_dice < 0.85 then
      perform pgflow.release_tasks(v_worker);
    end if;
    commit;
  end loop;
end $$;

create procedure t.intruder() language plpgsql as $$
begin
  while not t.over() loop
    perform pgflow.complete_tasks(coalesce(t.some_items(5), '[]'));
    commit;
    perform pgflow.fail_tasks(coalesce(t.some_items(3), '[]'));
    commit;
    perform pgflow.complete_task(run_id, step_slug, task_index, '1') from pgflow.step_tasks where status = 'started' limit 1;
    commit;
  end loop;
end $$;

create procedure t.releaser() language plpgsql as $$
declare
  v_worker uuid;
begin
  while not t.over() loop
    select last_worker_id into v_worker from pgflow.step_tasks where status = 'started' order by random() limit 1;
    perform pgflow.release_worker(v_worker, 'crash', array(
      select message_id from pgflow.step_tasks where last_worker_id = v_worker and random() < 0.3
    ));
    commit;
  end loop;
end $$;

create procedure t.recovery() language plpgsql as $$
begin
  while not t.over() loop
    update pgflow.step_tasks set queued_at = now() - interval '2 h', started_at = now() - interval '1 h'
      where (run_id, step_slug, task_index) in (
        select run_id, step_slug, task_index from pgflow.step_tasks where status = 'started' order by random() limit 1
        for update skip locked
      ) and status = 'started';
    commit;
    perform pgflow.requeue_stalled_tasks();
    commit;
  end loop;
end $$;
SQL

session starter 'call t.starter()'
for n in 1 2 3; do
  session "fused$n" 'call t.worker_loop(true)'
  session "plain$n" 'call t.worker_loop(false)'
done
for n in 1 2; do
  session "intruder$n" 'call t.intruder()'
  session "releaser$n" 'call t.releaser()'
  session "recovery$n" 'call t.recovery()'
done
join

equal 'all invariants hold' '' "$(sql -c 'select t.broken()')"
equal 'nobody deadlocked' 0 "$(sql -c 'select deadlocks from pg_stat_database where datname = current_database()')"
equal 'runs ended in both ways' 'completed,failed' \
  "$(sql -c "select string_agg(distinct status, ',' order by status) from pgflow.runs where status <> 'started'")"
sql -c "select count(*) || ' runs, ' || (select count(*) from pgflow.step_tasks) || ' tasks' from pgflow.runs"
