-- pgflow.cascade_complete_taskless_steps: complete one run's ready steps without tasks, layer after layer.
-- Called by: operators and tests; the engine itself calls _cascade_runs for sets of runs.
-- Locks: the run, then step_states.
-- Promises: parents complete before their dependents; returns how many steps completed.

create or replace function pgflow.cascade_complete_taskless_steps(run_id uuid)
returns int
language plpgsql
volatile
set search_path = ''
as $$
declare
  v_total int := 0;
  v_completed int;
begin
  perform from pgflow.runs r where r.run_id = cascade_complete_taskless_steps.run_id for no key update;
  loop
    v_completed := pgflow._complete_taskless_steps(array[cascade_complete_taskless_steps.run_id]);
    exit when v_completed = 0;
    v_total := v_total + v_completed;
  end loop;
  return v_total;
end;
$$;
