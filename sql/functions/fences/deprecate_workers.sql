-- pgflow.deprecate_workers: the workers of these functions finish what they hold and exit.
-- Called by: operators and the supervisor, after the fence.    Locks: the workers' rows.
-- Promises: a worker learns of it at its next heartbeat; those that stopped are left alone. Returns how many were told.
-- Refuses: NULL (argument_invalid, 22023).

create or replace function pgflow.deprecate_workers(function_names text[])
returns int
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_count int;
begin
  if function_names is null then
    perform pgflow._refuse_argument('deprecate_workers', 'function_names', null, 'an array of names');
  end if;
  update pgflow.workers w
    set deprecated_at = clock_timestamp()
    where w.function_name = any(function_names) and w.deprecated_at is null and w.stopped_at is null;
  get diagnostics v_count = row_count;
  return v_count;
end;
$$;
