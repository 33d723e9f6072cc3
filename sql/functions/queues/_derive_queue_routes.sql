-- pgflow._derive_queue_routes: the complete ordered route map of a definition, which is decided here and nowhere else.
-- Called by: ensure_flow_compiled, _create_flow_from_shape.    Locks: none; reads no table.
-- Promises: [{"stepSlug", "queueName"}, ...] in the order of the steps; every slug and name in it is valid, and the
--   installed PGMQ accepts every name.
-- Refuses: in this order queue_mode, empty_flow, invalid_flow_slug, shape_invalid (no list of steps with slugs),
--   invalid_step_slug, duplicate_step_slug, the kinds of _assert_shape, flow_queue_name, step_queue_name or
--   default_queue_name, PGMQ's own error, duplicate_queue_route.
create or replace function pgflow._derive_queue_routes(p_flow_slug text, p_shape jsonb, p_queue_mode text)
returns jsonb
language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
  v_slug_rules constant text := 'A slug has 1 to 128 ASCII letters, digits and single underscores, starts with a letter, '
    'ends with a letter or digit, and is not the word run.';
  v_default_queue text;
  v_steps jsonb;
  v_bad record;
  v_routes jsonb;
begin
  if p_queue_mode is null or p_queue_mode not in ('flow', 'step') then
    raise exception using
      constraint = 'pgflow_queue_mode',
      message = format('Queue mode "%s" is unknown.', p_queue_mode),
      detail = format('It was asked for flow "%s".', p_flow_slug),
      hint = 'Use flow or step.';
  end if;

  if p_queue_mode = 'step' and coalesce(nullif(p_shape -> 'steps', 'null'), '[]') = '[]' then
    raise exception using
      constraint = 'pgflow_empty_flow',
      message = format('Flow "%s" has no steps, so it cannot use per-step queues.', p_flow_slug),
      detail = 'Step mode creates one queue per step.',
      hint = 'Add a step or compile in flow mode.';
  end if;

  if not pgflow.is_valid_slug(p_flow_slug) then
    raise exception using
      constraint = 'pgflow_invalid_flow_slug',
      message = format('Invalid flow slug "%s".', p_flow_slug),
      detail = v_slug_rules,
      hint = 'Rename the flow.';
  end if;

  v_steps := pgflow._shape_steps(p_flow_slug, p_shape);

  select element.value ->> 'slug' as slug, element.position - 1 as step_index into v_bad
    from jsonb_array_elements(v_steps) with ordinality as element (value, position)
    where not pgflow.is_valid_slug(element.value ->> 'slug')
    order by element.position limit 1;
  if found then
    raise exception using
      constraint = 'pgflow_invalid_step_slug',
      message = format(
        'Invalid step slug "%s" at index %s in flow "%s".', v_bad.slug, v_bad.step_index, p_flow_slug
      ),
      detail = v_slug_rules,
      hint = 'Rename the step.';
  end if;

  select array_agg(element.value ->> 'slug' order by element.position) as slugs,
      array_agg(element.position - 1 order by element.position) as indices
    into v_bad
    from jsonb_array_elements(v_steps) with ordinality as element (value, position)
    group by lower(element.value ->> 'slug' collate "C")
    having count(*) > 1
    order by min(element.position) limit 1;
  if found then
    raise exception using
      constraint = 'pgflow_duplicate_step_slug',
      message = format(
        'Steps "%s" and "%s" of flow "%s" are the same name when case is ignored.',
        v_bad.slugs[1], v_bad.slugs[2], p_flow_slug
      ),
      detail = format('They are at indices %s and %s.', v_bad.indices[1], v_bad.indices[2]),
      hint = 'Rename one of them.';
  end if;

  perform pgflow._assert_shape(p_flow_slug, p_shape);

  if p_queue_mode = 'flow' then
    v_default_queue := pgflow._default_queue_name(p_flow_slug);
  end if;

  -- In the order of the steps, so that the first step that has no name is the one that is reported.
  select coalesce(
      jsonb_agg(
        jsonb_build_object(
          'stepSlug', step.slug,
          'queueName', case p_queue_mode
            when 'flow' then v_default_queue
            else pgflow._resolve_step_queue_name(p_flow_slug, step.slug, step.step_index)
          end
        )
      ),
      '[]'
    )
    into v_routes
    from (
      select element.value ->> 'slug' as slug, (element.position - 1)::int as step_index
        from jsonb_array_elements(v_steps) with ordinality as element (value, position)
        order by element.position
    ) step;

  perform pgmq.validate_queue_name(queue.name)
    from (
      select v_default_queue as name where v_default_queue is not null
      union
      select route ->> 'queueName' from jsonb_array_elements(v_routes) route
    ) queue;

  if p_queue_mode = 'step' then
    select array_agg(route.value ->> 'stepSlug' order by route.position) as slugs, route.value ->> 'queueName' as queue_name
      into v_bad
      from jsonb_array_elements(v_routes) with ordinality as route (value, position)
      group by route.value ->> 'queueName'
      having count(*) > 1
      order by min(route.position) limit 1;
    if found then
      raise exception using
        constraint = 'pgflow_duplicate_queue_route',
        message = format(
          'Steps "%s" and "%s" of flow "%s" resolve to one queue "%s".',
          v_bad.slugs[1], v_bad.slugs[2], p_flow_slug, v_bad.queue_name
        ),
        detail = 'In step mode every step owns its queue.',
        hint = 'Rename one of them.';
    end if;
  end if;

  return v_routes;
end;
$$;
