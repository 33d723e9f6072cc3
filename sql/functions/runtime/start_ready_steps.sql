-- pgflow.start_ready_steps: start every step of one run that waits for nothing, and send its tasks.
-- Called by: operators and tests; the engine itself calls _start_ready_steps for sets of runs.
-- Locks: the run, then its step_states.
-- Promises: nothing happens for an unknown or finished run.

create or replace function pgflow.start_ready_steps(run_id uuid)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  perform from pgflow.runs r where r.run_id = start_ready_steps.run_id for no key update;
  perform pgflow._start_ready_steps(ready.run_ids, ready.step_slugs) from pgflow._ready_steps(start_ready_steps.run_id) ready;
end;
$$;
