-- pgflow._cascade_runs: judge the conditions of ready steps and complete ready steps without tasks, until neither is left.
-- Called by: start_flow, _advance_runs, under the run's lock.    Locks: step_states, runs; tasks and queue rows of a failure.
-- Promises: a step's condition is judged before the step may complete; each round takes one layer of the graph, so the
--   number of rounds is at most the number of steps. Returns the number of rounds.

create or replace function pgflow._cascade_runs(run_ids uuid[])
returns int
language plpgsql
set search_path = ''
as $$
declare
  v_rounds int := 0;
begin
  loop
    while pgflow._judge_conditions(run_ids) loop
      v_rounds := v_rounds + 1;
    end loop;
    exit when pgflow._complete_taskless_steps(run_ids) = 0;
    v_rounds := v_rounds + 1;
  end loop;
  return v_rounds;
end;
$$;
