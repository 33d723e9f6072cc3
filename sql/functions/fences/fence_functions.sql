-- pgflow.fence_functions: from now on nothing of these functions may run, until the holder of the token lifts the fence.
-- Called by: operators and the supervisor, before a deployment.
-- Locks: pgflow.fences (one fence after another), the functions' claim locks: it waits for claims that are under way.
-- Promises: in one transaction the enabled state of the whole set is recorded and then false, a function that nobody has
--   tracked yet included; when it is committed, read_and_claim gives these functions no task any more. A function inside
--   another fence is recorded as it was before that one. The same fence_id and token again (an answer was lost) change
--   nothing. The channel pgflow_fences tells the fence_id. Returns what was recorded.
-- Refuses: fence_token (42501), the fence_id of another holder; fence_lifted; fence_empty; NULL (argument_invalid, 22023);
--   an old snapshot (isolation_level), in which another fence may be missing.

create or replace function pgflow.fence_functions(
  fence_id uuid,
  token text,
  function_names text[],
  owner text,
  reason text
)
returns table (function_name text, was_enabled boolean)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_is_fresh constant boolean := pgflow._require_read_committed('fence_functions');
  v_token_hash constant bytea := sha256(convert_to(token, 'UTF8'));
  v_names constant text[] := array(
    select distinct wanted.name collate "C" from unnest(function_names) as wanted (name) where wanted.name is not null order by 1
  );
  v_recorded boolean[];
  v_fence pgflow.fences;
begin
  if num_nulls(fence_id, token, owner, reason) > 0 then
    perform pgflow._refuse_argument(
      'fence_functions',
      (array['fence_id', 'token', 'owner', 'reason'])[
        array_position(array[fence_id is null, token is null, owner is null, reason is null], true)
      ],
      null, 'given'
    );
  end if;
  lock table pgflow.fences in share row exclusive mode;

  select f.* into v_fence from pgflow.fences f where f.fence_id = fence_functions.fence_id;
  if found then
    perform pgflow._assert_fence_token(v_fence, token);
    if v_fence.lifted_at is not null then
      raise exception using
        constraint = 'pgflow_fence_lifted',
        message = format('Fence %s has been lifted already.', fence_functions.fence_id),
        detail = format('It was lifted at %s.', v_fence.lifted_at),
        hint = 'Fence the functions anew, under a new id.';
    end if;
  elsif v_names = '{}' then
    raise exception using
      constraint = 'pgflow_fence_empty',
      message = 'A fence without functions was asked for.',
      detail = format('Its owner would be %s.', owner),
      hint = 'Name at least one worker function.';
  else
    -- A claim holds its lock until it commits; one that comes later is refused, and then sees the fence.
    perform pg_advisory_xact_lock(2, hashtext(wanted.name)) from unnest(v_names) as wanted (name);

    -- Nobody pings a process function, and its worker's first start corrects the mode.
    insert into pgflow.worker_functions (function_name, start_mode)
      select wanted.name, 'process' from unnest(v_names) as wanted (name)
      on conflict on constraint worker_functions_pkey do nothing;
    select array_agg(
        coalesce(
          (
            select other.recorded[array_position(other.function_names, f.function_name)]
              from pgflow.fenced_functions standing
              join pgflow.fences other on other.fence_id = standing.fence_id
              where standing.function_name = f.function_name
              limit 1
          ),
          f.enabled
        )
        order by f.function_name collate "C"
      )
      into v_recorded
      from pgflow.worker_functions f
      where f.function_name = any(v_names);
    update pgflow.worker_functions f set enabled = false, updated_at = now() where f.function_name = any(v_names);

    insert into pgflow.fences (fence_id, function_names, recorded, owner, reason, token_hash)
      values (fence_functions.fence_id, v_names, v_recorded, fence_functions.owner, fence_functions.reason, v_token_hash)
      returning * into v_fence;
    insert into pgflow.fenced_functions (function_name, fence_id)
      select wanted.name, fence_functions.fence_id from unnest(v_names) as wanted (name);
    perform pg_notify('pgflow_fences', fence_functions.fence_id::text);
  end if;

  return query
    select fenced.name, fenced.was_enabled
      from unnest(v_fence.function_names, v_fence.recorded) as fenced (name, was_enabled);
end;
$$;
