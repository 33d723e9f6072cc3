-- pgflow.create_flow: a flow in flow mode, with its default queue.
-- Called by: clients and direct SQL.    Locks: the definition.
-- Promises: idempotent for the exact slug: an existing flow comes back unchanged, options and mode included; a missing
--   default queue of a flow-mode flow is created again, a step-mode flow gets none.
-- Refuses: isolation_level, default_queue_name, default_queue_taken (23505), an invalid slug (23514), another spelling of
--   an existing flow (23505).
create or replace function pgflow.create_flow(
  flow_slug text,
  max_attempts int default null,
  base_delay int default null,
  timeout int default null
) returns pgflow.flows
language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
  v_queue constant text := lower(create_flow.flow_slug collate "C");
  v_flow pgflow.flows;
begin
  perform pgflow._require_read_committed('create_flow');
  perform pgflow._lock_definition(create_flow.flow_slug);
  -- An invalid slug, whatever its length, is the table's to refuse.
  if pgflow.is_valid_slug(create_flow.flow_slug) then
    perform pgflow._default_queue_name(create_flow.flow_slug);
  end if;
  perform pgflow._assert_default_queue_available(create_flow.flow_slug);

  insert into pgflow.flows (flow_slug, opt_max_attempts, opt_base_delay, opt_timeout)
  values (
    create_flow.flow_slug,
    coalesce(create_flow.max_attempts, 3),
    coalesce(create_flow.base_delay, 5),
    coalesce(create_flow.timeout, 60)
  )
  on conflict on constraint flows_pkey do nothing;
  select f.* into v_flow from pgflow.flows f where f.flow_slug = create_flow.flow_slug;

  if v_flow.queue_mode = 'flow'
    and not exists (select from pgmq.list_queues() q where lower(q.queue_name::text collate "C") = v_queue)
  then
    perform pgflow._create_queue(v_queue);
  end if;
  return v_flow;
end;
$$;
