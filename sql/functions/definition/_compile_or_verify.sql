-- pgflow._compile_or_verify: what ensure_flow_compiled and verify_flow_compiled have in common.
-- Called by: those two.
-- Locks: the definition: shared to verify, so that the workers of one flow start side by side; exclusive to write.
-- Promises: a missing flow is compiled, an equal one verified; another one is recompiled where p_recompiles says so, and a
--   mismatch elsewhere.
-- Refuses: whatever _derive_queue_routes, _assert_route_map and the availability checks refuse.
create or replace function pgflow._compile_or_verify(
  flow_slug text,
  shape jsonb,
  queue_mode text,
  route_map jsonb,
  p_recompiles boolean
) returns jsonb
language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
  v_flow_slug constant text := _compile_or_verify.flow_slug;
  v_mode constant text := coalesce(_compile_or_verify.queue_mode, 'flow');
  v_routes constant jsonb := pgflow._derive_queue_routes(v_flow_slug, shape, v_mode);
  v_db_mode text;
  v_db_routes jsonb;
  v_steps jsonb;
  v_db_shape jsonb;
  v_shape_differences text[] := array[]::text[];
  v_routing_differences text[] := array[]::text[];
begin
  perform pgflow._assert_route_map(v_flow_slug, v_routes, route_map);

  -- A shared lock cannot grow without the risk of a deadlock, so whoever is likely to write asks for the exclusive one.
  -- A flow that is deleted between this look and the lock leads to that growth; a deadlock there is retried.
  perform pgflow._lock_definition(
    v_flow_slug, p_shared => not p_recompiles and exists (select from pgflow.flows f where f.flow_slug = v_flow_slug)
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

  -- What is the same word for word needs no comparison, which is a new connection's dearest statement.
  select jsonb_agg(step.value - 'options' order by step.position)
    into v_steps
    from jsonb_array_elements(pgflow._shape_steps(v_flow_slug, shape)) with ordinality as step (value, position);
  v_db_shape := pgflow._get_flow_shape(v_flow_slug);
  if v_steps is distinct from v_db_shape -> 'steps' then
    v_shape_differences := pgflow._compare_flow_shapes(shape, v_db_shape);
  end if;
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

  if p_recompiles then
    perform pgflow.delete_flow_and_data(v_flow_slug);
    perform pgflow._create_flow_from_shape(v_flow_slug, shape, v_mode);
  end if;
  return jsonb_build_object(
    'status', case when p_recompiles then 'recompiled' else 'mismatch' end,
    'differences', to_jsonb(v_shape_differences || v_routing_differences),
    'mismatchKind', case when p_recompiles then null when v_shape_differences <> '{}' then 'shape' else 'routing' end
  );
end;
$$;
