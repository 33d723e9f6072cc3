-- pgflow.ensure_flow_compiled: the definition in the database is the worker's, or becomes it, or the caller learns why not.
-- Called by: every worker and supervisor at its start (store::FlowStore), before it registers or polls.
-- Locks: the definition: shared to verify, so that the workers of one flow start side by side; exclusive to write.
-- Promises: {"status", "differences", "mismatchKind"}; shape, mode and ordered routes are compared always. A mismatch
--   returns and changes nothing; only a local database recompiles, and an error then keeps the old definition, its
--   queues and its runs.
-- Refuses: isolation_level; whatever _derive_queue_routes, _assert_route_map and the availability checks refuse.
create or replace function pgflow.ensure_flow_compiled(
  flow_slug text,
  shape jsonb,
  queue_mode text default 'flow',
  route_map jsonb default null
) returns jsonb
language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
  v_flow_slug constant text := ensure_flow_compiled.flow_slug;
  v_mode constant text := coalesce(ensure_flow_compiled.queue_mode, 'flow');
  v_routes constant jsonb := pgflow._derive_queue_routes(v_flow_slug, shape, v_mode);
  v_is_local constant boolean := pgflow.is_local();
  v_db_mode text;
  v_db_routes jsonb;
  v_shape_differences text[];
  v_routing_differences text[] := array[]::text[];
begin
  perform pgflow._require_read_committed('ensure_flow_compiled');
  perform pgflow._assert_route_map(v_flow_slug, v_routes, route_map);

  -- A shared lock cannot grow without the risk of a deadlock, so whoever is likely to write asks for the exclusive one.
  -- A flow that is deleted between this look and the lock leads to that growth; a deadlock there is retried.
  perform pgflow._lock_definition(
    v_flow_slug, p_shared => not v_is_local and exists (select from pgflow.flows f where f.flow_slug = v_flow_slug)
  );
  select f.queue_mode into v_db_mode from pgflow.flows f where f.flow_slug = v_flow_slug;
  if not found then
    perform pgflow._lock_definition(v_flow_slug);
    select f.queue_mode into v_db_mode from pgflow.flows f where f.flow_slug = v_flow_slug;
  end if;
  if v_db_mode is null then
    perform pgflow._create_flow_from_shape(v_flow_slug, shape, v_mode);
    return jsonb '{"status": "compiled", "differences": [], "mismatchKind": null}';
  end if;

  select coalesce(
      jsonb_agg(jsonb_build_object('stepSlug', s.step_slug, 'queueName', s.queue_name) order by s.step_index), '[]'
    )
    into v_db_routes
    from pgflow.steps s where s.flow_slug = v_flow_slug;

  v_shape_differences := pgflow._compare_flow_shapes(shape, pgflow._get_flow_shape(v_flow_slug));
  if v_db_mode <> v_mode then
    v_routing_differences := v_routing_differences
      || format('Queue mode differs: database has ''%s'', worker expects ''%s''', v_db_mode, v_mode);
  end if;
  if v_db_routes <> v_routes then
    v_routing_differences := v_routing_differences || format(
      'Step routes differ: database has [%s], worker expects [%s]',
      (select string_agg(format('%s -> %s', route ->> 'stepSlug', route ->> 'queueName'), ', ')
         from jsonb_array_elements(v_db_routes) route),
      (select string_agg(format('%s -> %s', route ->> 'stepSlug', route ->> 'queueName'), ', ')
         from jsonb_array_elements(v_routes) route)
    );
  end if;

  if v_shape_differences = '{}' and v_routing_differences = '{}' then
    perform pgflow._assert_queues_intact(v_flow_slug, v_mode, v_routes);
    return jsonb '{"status": "verified", "differences": [], "mismatchKind": null}';
  end if;

  if v_is_local then
    perform pgflow.delete_flow_and_data(v_flow_slug);
    perform pgflow._create_flow_from_shape(v_flow_slug, shape, v_mode);
  end if;
  return jsonb_build_object(
    'status', case when v_is_local then 'recompiled' else 'mismatch' end,
    'differences', to_jsonb(v_shape_differences || v_routing_differences),
    'mismatchKind', case when v_is_local then null when v_shape_differences <> '{}' then 'shape' else 'routing' end
  );
end;
$$;
