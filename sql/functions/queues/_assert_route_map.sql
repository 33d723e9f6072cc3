-- pgflow._assert_route_map: what a worker believes about its flow's routes is what the database derived.
-- Called by: ensure_flow_compiled.    Locks: none.
-- Promises: NULL passes (direct SQL sends none); otherwise same length, same order, same pairs; other keys are ignored.
-- Refuses: route_map_length, route_map_entry. A caller never decides a queue's name.
create or replace function pgflow._assert_route_map(p_flow_slug text, p_routes jsonb, p_supplied jsonb) returns void
language plpgsql immutable set search_path = pg_catalog, pg_temp
as $$
declare
  v_expected constant int := jsonb_array_length(p_routes);
  v_bad record;
begin
  if p_supplied is null then
    return;
  end if;

  if jsonb_typeof(p_supplied) <> 'array' then
    raise exception using
      constraint = 'pgflow_route_map_length',
      message = format('Route map of flow "%s" is not an array, %s entries expected.', p_flow_slug, v_expected),
      detail = format('It is a JSON %s; every step must be there, in order.', jsonb_typeof(p_supplied)),
      hint = 'Send the checked routes or none.';
  elsif jsonb_array_length(p_supplied) <> v_expected then
    raise exception using
      constraint = 'pgflow_route_map_length',
      message = format(
        'Route map of flow "%s" has %s entries, %s expected.',
        p_flow_slug, jsonb_array_length(p_supplied), v_expected
      ),
      detail = 'Every step must be there once, in order.',
      hint = 'Send the checked routes or none.';
  end if;

  select route.position - 1 as step_index,
      format('%s -> %s', supplied.value -> 'stepSlug', supplied.value -> 'queueName') as supplied,
      format('%s -> %s', route.value -> 'stepSlug', route.value -> 'queueName') as derived
    into v_bad
    from jsonb_array_elements(p_routes) with ordinality as route (value, position)
    join jsonb_array_elements(p_supplied) with ordinality as supplied (value, position) using (position)
    where (supplied.value -> 'stepSlug', supplied.value -> 'queueName')
      is distinct from (route.value -> 'stepSlug', route.value -> 'queueName')
    order by route.position limit 1;
  if found then
    raise exception using
      constraint = 'pgflow_route_map_entry',
      message = format('Route map of flow "%s" differs at position %s.', p_flow_slug, v_bad.step_index),
      detail = format('Supplied %s, derived %s.', v_bad.supplied, v_bad.derived),
      hint = 'The database derives queue names; build worker and database from the same pgflow version.';
  end if;
end;
$$;
