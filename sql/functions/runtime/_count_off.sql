-- pgflow._count_off: a step of run_ids[i] has ended; the runs have so many steps less.
-- Called by: whatever ends steps without _release_dependents counting them, under the run's lock.    Locks: runs.
-- Promises: a run is named once for each step. Returns the runs that have no step left.

create or replace function pgflow._count_off(run_ids uuid[])
returns uuid[]
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
  v_finished uuid[];
begin
  if run_ids is null then
    return null;
  end if;
  with counted as (
    update pgflow.runs r
      set remaining_steps = r.remaining_steps - ended.steps
      from (select e.run_id, count(*) as steps from unnest(run_ids) as e (run_id) group by e.run_id) ended
      where r.run_id = any(run_ids) and r.run_id = ended.run_id
      returning r.run_id, r.remaining_steps
  )
  select array_agg(counted.run_id) into v_finished from counted where counted.remaining_steps = 0;
  return v_finished;
end;
$$;
