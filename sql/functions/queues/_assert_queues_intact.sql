-- pgflow._assert_queues_intact: the queues of a flow that exists are listed and nobody else's.
-- Called by: ensure_flow_compiled, to verify.    Locks: none; the caller holds the definition lock.
-- Promises: writes nothing. A missing default queue of a flow-mode flow is a warning: create_flow brings it back.
-- Refuses: in step mode, what _assert_step_queues_available refuses.
create or replace function pgflow._assert_queues_intact(p_flow_slug text, p_queue_mode text, p_routes jsonb) returns void
language plpgsql stable set search_path = pg_catalog, pg_temp
as $$
declare
  v_default_queue constant text := lower(p_flow_slug collate "C");
begin
  if p_queue_mode = 'step' then
    perform pgflow._assert_step_queues_available(
      p_flow_slug, array(select route ->> 'queueName' from jsonb_array_elements(p_routes) route)
    );
  elsif not exists (select from pgmq.list_queues() q where lower(q.queue_name::text collate "C") = v_default_queue) then
    raise warning using
      message = format('Queue "%s" of flow "%s" is not listed in PGMQ.', v_default_queue, p_flow_slug),
      hint = 'Call pgflow.create_flow with the same slug to create it again.';
  end if;
end;
$$;
