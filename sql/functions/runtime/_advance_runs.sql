-- pgflow._advance_runs: after some steps have ended, carry their runs as far as they go without a worker.
-- Called by: whatever ends a step through a task, under the run's lock.    Locks: step_states, runs, tasks, queue rows.
-- Promises: called once for each step (run_ids[i], step_slugs[i]) that has just ended. Conditions are judged before
--   anything starts, steps without tasks complete, ready steps start, finished runs complete.

create or replace function pgflow._advance_runs(run_ids uuid[], step_slugs text[])
returns int
language plpgsql
set search_path = ''
as $$
declare
  v_cascading uuid[];
  v_startable uuid[];
  v_finished uuid[];
  v_done int := 0;
begin
  select released.cascading, released.startable, released.finished
    into v_cascading, v_startable, v_finished
    from pgflow._release_dependents(run_ids, step_slugs) released;

  if v_cascading is not null then
    v_done := pgflow._cascade_runs(v_cascading);
    v_finished := v_finished || v_cascading;
  end if;
  if v_startable is not null then
    v_done := pgflow._start_ready_steps(v_startable);
  end if;
  if v_finished is not null then
    v_done := pgflow._complete_runs(v_finished);
  end if;
  return v_done;
end;
$$;
