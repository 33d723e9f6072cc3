-- pgflow.heartbeat: a worker is alive; tell it whether it should go on.
-- Called by: heartbeat_with_tasks, workers without it.    Locks: the worker's row.
-- Promises: no row for an unknown or stopped worker. A deprecated worker finishes what it has claimed and exits; a disabled
--   function's worker is about to be deprecated. A function that nobody tracks counts as enabled.

create or replace function pgflow.heartbeat(worker_id uuid)
returns table (is_deprecated boolean, function_enabled boolean)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  return query
    update pgflow.workers w
      set last_heartbeat_at = clock_timestamp()
      where w.worker_id = heartbeat.worker_id and w.stopped_at is null
      returning w.deprecated_at is not null, coalesce(
        (select f.enabled from pgflow.worker_functions f where f.function_name = w.function_name), true
      );
end;
$$;
