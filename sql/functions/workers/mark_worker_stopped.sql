-- pgflow.mark_worker_stopped: a worker says goodbye.
-- Called by: workers that have drained.    Locks: the worker's row.
-- Promises: an unknown or already stopped worker is left alone.

create or replace function pgflow.mark_worker_stopped(worker_id uuid)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  update pgflow.workers w
    set stopped_at = clock_timestamp()
    where w.worker_id = mark_worker_stopped.worker_id and w.stopped_at is null;
end;
$$;
