-- pgflow.maybe_complete_run: complete one run if no step of it is left.
-- Called by: operators and tests; the engine itself calls _complete_runs for sets.    Locks: the run.
-- Promises: a run that is not `started` is left alone.

create or replace function pgflow.maybe_complete_run(run_id uuid)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  perform from pgflow.runs r where r.run_id = maybe_complete_run.run_id for no key update;
  perform pgflow._complete_runs(array[maybe_complete_run.run_id]);
end;
$$;
