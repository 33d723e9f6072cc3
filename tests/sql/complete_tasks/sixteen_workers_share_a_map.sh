#!/usr/bin/env bash
# A23: sixteen sessions work off one map of 10,000 elements and one behind it: nothing is lost, done twice or told twice.
. "$(dirname "$0")/../../support/sql_sessions.bash"

sql -f "$here/engine.psql"
sql <<'SQL'
select pgflow.ensure_flow_compiled('wide', '{"steps": [
  {"slug": "m", "dependencies": [], "stepType": "map"},
  {"slug": "n", "dependencies": ["m"], "stepType": "map"},
  {"slug": "sum", "dependencies": ["n"]}]}', 'step') \g /dev/null
insert into pgflow.workers (worker_id, queue_name, function_name) select t.worker(n), 'wide', 'test' from generate_series(5, 16) n;

create procedure t.work(p_worker int) language plpgsql as $$
declare
  v_step text;
  v_items jsonb;
  v_deadline timestamptz := clock_timestamp() + interval '90 s';
begin
  while exists (select from pgflow.runs where status = 'started') loop
    if clock_timestamp() > v_deadline then
      raise exception 'the run has not ended in 90 s';
    end if;
    for v_step in select step_slug from pgflow.step_states where status = 'started' loop
      select jsonb_agg(jsonb_build_object(
          'run_id', c.run_id, 'step_slug', c.step_slug, 'task_index', c.task_index, 'attempt', c.attempt,
          'output', case when c.step_slug = 'sum' then to_jsonb(jsonb_array_length(c.input->'n')) else c.input end
        )) into v_items
        from pgflow.read_and_claim('wide__' || v_step, 'wide', v_step, t.worker(p_worker), 1 + p_worker * 2) c
        where c.outcome = 'claimed';
      commit;
      if v_items is not null
        and exists (select from pgflow.complete_tasks(v_items, t.worker(p_worker)) c where c.outcome <> 'applied')
      then
        raise exception 'a claimed task could not be completed';
      end if;
      commit;
    end loop;
  end loop;
end $$;

select pgflow.start_flow('wide', (select jsonb_agg(n) from generate_series(1, 10000) n)) \g /dev/null
SQL

for n in {1..16}; do session "worker$n" "call t.work($n)"; done
join

equal 'the run completes with all elements' '{"sum": 10000}' "$(sql -c 'select output from pgflow.runs')"
equal 'the output is in the order of the elements' t \
  "$(sql -c "select output = (select jsonb_agg(n) from generate_series(1, 10000) n) from pgflow.step_states where step_slug = 'n'")"
equal 'every task took one attempt' 1 "$(sql -c 'select distinct attempts_count from pgflow.step_tasks')"
equal 'each step was told completed once' 'm 1,n 1,sum 1' \
  "$(sql -c "select string_agg(slug || ' ' || told, ',' order by slug) from (
       select payload->>'step_slug' as slug, count(*) as told from pgflow.event_log where event like '%:completed' and payload ? 'step_slug' group by 1) x")"
equal 'all invariants hold' '' "$(sql -c 'select t.broken()')"
equal 'nobody deadlocked' 0 "$(sql -c 'select deadlocks from pg_stat_database where datname = current_database()')"
