-- pgflow.get_run_with_states: one run and all its steps as {"run": {…}, "steps": [{…}, …]}.
-- Called by: clients, `pgflow run show` and `pgflow run wait`.    Locks: none.
-- Promises: steps in the order of their definition; NULL for an unknown run.

create or replace function pgflow.get_run_with_states(run_id uuid)
returns jsonb
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
begin
  return (
    select jsonb_build_object('run', to_jsonb(r), 'steps', (
        select coalesce(jsonb_agg(to_jsonb(ss) order by s.step_index), '[]')
          from pgflow.step_states ss
          join pgflow.steps s on s.flow_slug = ss.flow_slug and s.step_slug = ss.step_slug
          where ss.run_id = r.run_id
      ))
      from pgflow.runs r
      where r.run_id = get_run_with_states.run_id
  );
end;
$$;
