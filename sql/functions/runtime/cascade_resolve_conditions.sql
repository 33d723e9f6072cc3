-- pgflow.cascade_resolve_conditions: judge the conditions of one run's ready steps until nothing changes.
-- Called by: operators and tests; the engine itself calls _cascade_runs for sets of runs.
-- Locks: the run, step_states; tasks and queue rows when the run fails.
-- Promises: false when the run is failed now, true otherwise; a finished run is left alone.

create or replace function pgflow.cascade_resolve_conditions(run_id uuid)
returns boolean
language plpgsql
volatile
set search_path = ''
as $$
begin
  perform from pgflow.runs r where r.run_id = cascade_resolve_conditions.run_id for no key update;
  while pgflow._judge_conditions(array[cascade_resolve_conditions.run_id]) loop
  end loop;
  return not exists (
    select from pgflow.runs r where r.run_id = cascade_resolve_conditions.run_id and r.status = 'failed'
  );
end;
$$;
