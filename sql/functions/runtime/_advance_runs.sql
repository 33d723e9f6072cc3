-- pgflow._advance_runs: after some steps have ended, carry their runs as far as they go without a worker.
-- Called by: whatever ends a step through a task, under the run's lock.    Locks: step_states, runs, tasks, queue rows.
-- Promises: called once for each step (run_ids[i], step_slugs[i]) that has just ended. Conditions are judged before
--   anything starts, steps without tasks complete, ready steps start, finished runs complete. What it reads depends on
--   the steps that ended and became ready, not on the size of the run.

create or replace function pgflow._advance_runs(run_ids uuid[], step_slugs text[])
returns int
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_released record;
  v_cascaded record;
  v_queue_names text[];  -- unused: an assignment starts no statement
  v_done int := 0;
begin
  v_released := pgflow._release_dependents(run_ids, step_slugs);
  if v_released.started_run_ids is not null then
    v_queue_names := pgflow._send_tasks(
      v_released.started_flow_slugs, v_released.started_run_ids, v_released.started_step_slugs, v_released.started_tasks
    );
  end if;
  if v_released.cascades then
    v_cascaded := pgflow._cascade_steps(v_released.ready_run_ids, v_released.ready_step_slugs);
    v_queue_names := pgflow._start_ready_steps(v_cascaded.ready_run_ids, v_cascaded.ready_step_slugs);
    if v_cascaded.finished_run_ids is not null then
      v_done := pgflow._complete_runs(v_cascaded.finished_run_ids);
    end if;
  end if;
  if v_released.finished_run_ids is not null then
    v_done := pgflow._complete_runs(v_released.finished_run_ids, are_counted => false);
  end if;
  return v_done;
end;
$$;
