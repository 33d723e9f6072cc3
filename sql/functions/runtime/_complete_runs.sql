-- pgflow._complete_runs: complete those of these runs that have no step left. are_counted is false when their last steps are
--   still to be counted off, and the caller knows that there is none left.
-- Called by: start_flow, _advance_runs, maybe_complete_run, under the run's lock.    Locks: runs.
-- Promises: the output maps each completed leaf step to its output; NULL when no leaf completed. Returns the number
--   completed.

create or replace function pgflow._complete_runs(run_ids uuid[], are_counted boolean default true)
returns int
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
  v_run_ids uuid[];
  v_done int;
begin
  with completed as (
    update pgflow.runs r
      set status = 'completed',
        remaining_steps = 0,
        completed_at = greatest(clock_timestamp(), r.started_at),
        output = (
          select jsonb_object_agg(ss.step_slug, ss.output)
            from pgflow.step_states ss
            where ss.run_id = r.run_id
              and ss.status = 'completed'
              and not exists (
                select from pgflow.deps dep where dep.flow_slug = ss.flow_slug and dep.dep_slug = ss.step_slug
              )
        )
      where r.run_id = any(run_ids)
        and r.status = 'started'
        and (not are_counted or r.remaining_steps = 0)
      returning r.run_id
  )
  select array_agg(completed.run_id order by completed.run_id) into v_run_ids from completed;

  if v_run_ids is not null and pgflow._emits() then
    v_done := pgflow._emit_runs(v_run_ids);
  end if;
  return coalesce(cardinality(v_run_ids), 0);
end;
$$;
