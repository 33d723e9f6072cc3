-- pgflow.ack_fence: nothing of the fence's functions runs at this supervisor any more.
-- Called by: store::FenceStore, after the last of these workers was reaped.    Locks: none.
-- Promises: true while the fence stands, also when asked again; false when it was lifted or never put up. Who can see the
--   fence knows it committed, and a committed fence had waited for every claim under way: so no claim of this supervisor's
--   workers commits after an ack, not even one of a worker that it has lost sight of.
-- Refuses: a generation that never beat (23503).

create or replace function pgflow.ack_fence(p_fence_id uuid, p_generation uuid)
returns boolean
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  insert into pgflow.fence_acks (fence_id, generation, acked_at)
    select f.fence_id, p_generation, clock_timestamp()
      from pgflow.fences f
      where f.fence_id = p_fence_id and f.lifted_at is null
    on conflict on constraint fence_acks_pkey do nothing;
  return exists (select from pgflow.fences f where f.fence_id = p_fence_id and f.lifted_at is null);
end;
$$;
