-- pgflow._assert_fence_token: only who put the fence up may touch it.
-- Called by: fence_functions, unfence_functions.    Locks: none.
-- Refuses: fence_token (42501), for any other token.

create or replace function pgflow._assert_fence_token(fence pgflow.fences, token text)
returns void
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  if fence.token_hash is distinct from sha256(convert_to(token, 'UTF8')) then
    raise exception using
      errcode = 'insufficient_privilege',
      constraint = 'pgflow_fence_token',
      message = format('The token of fence %s is another one.', fence.fence_id),
      detail = format('The fence belongs to %s, who gave this reason: %s', fence.owner, fence.reason),
      hint = 'Ask its owner. In an emergency pass a reason instead of the token; it is kept.';
  end if;
end;
$$;
