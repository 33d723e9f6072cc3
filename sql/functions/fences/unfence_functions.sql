-- pgflow.unfence_functions: lift a fence and give its functions back the state that was recorded.
-- Called by: operators and the supervisor, after a deployment.    Locks: pgflow.fences, the functions' rows.
-- Promises: one statement for the whole set: a function that was disabled before stays disabled, one inside another fence
--   stays fenced. A lifted fence is left as it is. Without the token a forced_reason is needed, which is kept. The channel
--   pgflow_fences tells the fence_id. Returns how each function stands now.
-- Refuses: fence_unknown (P0002); fence_token (42501), with neither the token nor a reason; an old snapshot (isolation_level).

create or replace function pgflow.unfence_functions(fence_id uuid, token text default null, forced_reason text default null)
returns table (function_name text, enabled boolean, is_fenced boolean)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_is_fresh constant boolean := pgflow._require_read_committed('unfence_functions');
  v_fence pgflow.fences;
begin
  lock table pgflow.fences in share row exclusive mode;

  select f.* into v_fence from pgflow.fences f where f.fence_id = unfence_functions.fence_id;
  if not found then
    raise exception using
      errcode = 'no_data_found',
      constraint = 'pgflow_fence_unknown',
      message = format('There is no fence %s.', coalesce(unfence_functions.fence_id::text, 'NULL')),
      detail = 'Nothing was changed.',
      hint = 'Look it up in pgflow.fences.';
  end if;
  if forced_reason is null then
    perform pgflow._assert_fence_token(v_fence, token);
  end if;

  if v_fence.lifted_at is null then
    update pgflow.fences f
      set lifted_at = clock_timestamp(), forced_reason = unfence_functions.forced_reason
      where f.fence_id = unfence_functions.fence_id;
    delete from pgflow.fenced_functions standing where standing.fence_id = unfence_functions.fence_id;
    update pgflow.worker_functions f
      set enabled = fenced.was_enabled, updated_at = now()
      from unnest(v_fence.function_names, v_fence.recorded) as fenced (name, was_enabled)
      where f.function_name = fenced.name
        and not exists (select from pgflow.fenced_functions standing where standing.function_name = fenced.name);
    perform pg_notify('pgflow_fences', unfence_functions.fence_id::text);
  end if;

  return query
    select f.function_name, f.enabled,
        exists (select from pgflow.fenced_functions standing where standing.function_name = f.function_name)
      from pgflow.worker_functions f
      where f.function_name = any(v_fence.function_names)
      order by f.function_name collate "C";
end;
$$;
