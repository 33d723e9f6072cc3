#!/usr/bin/env bash
# A flow that is recompiled over and over under starting, claiming, settling and pruning sessions: nobody deadlocks or fails.
. "$(dirname "$0")/../../support/sql_sessions.bash"

sql -f "$here/../../sql/operator/prune_data_older_than.sql"
sql <<'SQL'
create schema t;
create table t.began as select clock_timestamp() as at;
create function t.over() returns boolean language sql as $$ select clock_timestamp() > at + interval '5 s' from t.began $$;

create procedure t.compiler() language plpgsql as $$
declare
  v_round int := 0;
begin
  set pgflow.environment = 'local';
  while not t.over() loop
    perform pgflow.ensure_flow_compiled('storm', format('{"steps": [{"slug": "m", "stepType": "map"},
      {"slug": "end%s", "dependencies": ["m"]}]}', v_round % 2)::jsonb);
    commit;
    v_round := v_round + 1;
  end loop;
end $$;

create procedure t.starter() language plpgsql as $$
begin
  while not t.over() loop
    perform pgflow.start_flow('storm', '[1, 2]');
    commit;
  end loop;
end $$;

-- Settles what it claimed by two calls in one transaction, in ascending order of the runs.
create procedure t.worker() language plpgsql as $$
declare
  v_worker uuid := gen_random_uuid();
  v_items jsonb;
begin
  perform pgflow.register_worker(v_worker, 'storm', 'storm');
  while not t.over() loop
    perform pgflow.read_and_claim('storm', 'storm', null, v_worker, 10);
    commit;
    select jsonb_agg(jsonb_build_object('run_id', run_id, 'step_slug', step_slug, 'task_index', task_index, 'output', '1')
        order by run_id)
      into v_items from pgflow.step_tasks where last_worker_id = v_worker and status = 'started';
    continue when v_items is null;
    perform pgflow.complete_tasks(jsonb_build_array(v_items -> 0), v_worker);
    perform pgflow.complete_tasks(v_items, v_worker);
    commit;
  end loop;
end $$;

create procedure t.pruner() language plpgsql as $$
begin
  while not t.over() loop
    perform pgflow.prune_data_older_than('0');
    commit;
  end loop;
end $$;

-- Another flow, of many queues, so that whoever looks into all of them can meet whoever drops them.
create procedure t.wide_compiler() language plpgsql as $$
declare
  v_round int := 0;
begin
  set pgflow.environment = 'local';
  while not t.over() loop
    perform pgflow.ensure_flow_compiled('wide', (
      select jsonb_build_object('steps', jsonb_agg(jsonb_build_object(
          'slug', 's' || step, 'whenUnmet', case v_round % 2 when 0 then 'skip' else 'fail' end) order by step))
        from generate_series(1, 10) step
    ), 'step');
    commit;
    perform pgflow.start_flow('wide', '{}');
    commit;
    v_round := v_round + 1;
  end loop;
end $$;

create procedure t.watcher() language plpgsql as $$
begin
  while not t.over() loop
    perform pgflow.stalled_tasks();
    commit;
  end loop;
end $$;

select pgflow.ensure_flow_compiled('storm', '{"steps": [{"slug": "m", "stepType": "map"}]}') \g /dev/null
SQL

session compiler 'call t.compiler()'
session pruner 'call t.pruner()'
session wide_compiler 'call t.wide_compiler()'
session watcher1 'call t.watcher()'
session watcher2 'call t.watcher()'
for n in 1 2 3; do
  session "starter$n" 'call t.starter()'
  session "worker$n" 'call t.worker()'
done
join
equal 'nobody deadlocked' 0 "$(sql -c 'select deadlocks from pg_stat_database where datname = current_database()')"
equal 'no run is without its flow' 0 "$(sql -c 'select count(*) from pgflow.step_states s where not exists (
  select from pgflow.steps where (flow_slug, step_slug) = (s.flow_slug, s.step_slug))')"
