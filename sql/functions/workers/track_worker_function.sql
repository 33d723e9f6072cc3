-- pgflow.track_worker_function: remember that workers of this name exist and how they are started.
-- Called by: register_worker, workers without it.    Locks: the function's row.
-- Promises: `enabled` is never changed, so that a fence survives restarts.

create or replace function pgflow.track_worker_function(function_name text, start_mode text default 'http')
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  insert into pgflow.worker_functions as f (function_name, start_mode)
    values (track_worker_function.function_name, track_worker_function.start_mode)
    on conflict on constraint worker_functions_pkey
    do update set start_mode = excluded.start_mode, updated_at = now();
end;
$$;
