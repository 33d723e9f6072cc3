-- pgflow.mark_supervisor_stopped: a supervisor has stopped all its workers and ends; nobody needs to wait for it.
-- Called by: store::FenceStore at the end.    Locks: the supervisor's row.
-- Promises: asked again, or for one that never beat, it changes nothing.

create or replace function pgflow.mark_supervisor_stopped(generation uuid)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  update pgflow.supervisors s
    set stopped_at = clock_timestamp()
    where s.generation = mark_supervisor_stopped.generation and s.stopped_at is null;
end;
$$;
