-- pgflow._create_queue: makes a queue, or makes one anew that somebody dropped.
-- Called by: create_flow, _create_flow_from_shape, restore_queues.    Locks: PGMQ's; the caller holds the definition lock.
-- Promises: message ids of an older queue of this name do not come back.
create or replace function pgflow._create_queue(p_queue_name text) returns void
language plpgsql set search_path = pg_catalog, pg_temp
as $$
begin
  perform pgmq.create(p_queue_name);
  perform pgflow._continue_message_ids(p_queue_name);
end;
$$;
