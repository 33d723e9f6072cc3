-- pgflow._assert_default_queue_available: a flow that does not exist yet finds its default queue unlisted.
-- Called by: create_flow, _create_flow_from_shape.    Locks: none; the caller holds the definition lock.
-- Promises: passes for a flow that exists, in any spelling: its queue is its own, and another spelling fails later on
--   idx_flows_normalized_slug.
-- Refuses: default_queue_taken (23505).
create or replace function pgflow._assert_default_queue_available(p_flow_slug text) returns void
language plpgsql stable set search_path = pg_catalog, pg_temp
as $$
declare
  v_queue constant text := lower(p_flow_slug collate "C");
begin
  if not exists (select from pgflow.flows f where lower(f.flow_slug collate "C") = v_queue)
    and exists (select from pgmq.list_queues() q where lower(q.queue_name::text collate "C") = v_queue)
  then
    raise exception using
      errcode = 'unique_violation',
      constraint = 'pgflow_default_queue_taken',
      message = format('Queue "%s" already exists, so flow "%s" cannot be created.', v_queue, p_flow_slug),
      detail = 'A flow that does not exist yet adopts no queue.',
      hint = 'Drop the queue if nobody needs its messages, or use another flow slug.';
  end if;
end;
$$;
