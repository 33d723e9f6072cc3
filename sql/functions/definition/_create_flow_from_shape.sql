-- pgflow._create_flow_from_shape: writes a complete definition with its queues.
-- Called by: ensure_flow_compiled.    Locks: the definition.
-- Promises: every check comes before the first write. Step mode creates exactly the route set, flow mode the default
--   queue; queues are created in the order of their names.
-- Refuses: what _derive_queue_routes and the availability checks refuse; a flow that exists (23505).
create or replace function pgflow._create_flow_from_shape(
  p_flow_slug text,
  p_shape jsonb,
  p_queue_mode text default 'flow'
) returns void
language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
  v_routes constant jsonb := pgflow._derive_queue_routes(p_flow_slug, p_shape, p_queue_mode);
  v_queues text[];
begin
  perform pgflow._lock_definition(p_flow_slug);
  if p_queue_mode = 'step' then
    v_queues := pgflow._assert_step_queues_available(
      p_flow_slug, array(select route ->> 'queueName' from jsonb_array_elements(v_routes) route)
    );
  else
    perform pgflow._assert_default_queue_available(p_flow_slug);
    v_queues := array[lower(p_flow_slug collate "C")];
  end if;

  insert into pgflow.flows (flow_slug, queue_mode, opt_max_attempts, opt_base_delay, opt_timeout)
  values (
    p_flow_slug,
    p_queue_mode,
    coalesce((p_shape #>> '{options,maxAttempts}')::numeric::int, 3),
    coalesce((p_shape #>> '{options,baseDelay}')::numeric::int, 5),
    coalesce((p_shape #>> '{options,timeout}')::numeric::int, 60)
  );
  perform pgflow._create_queue(queue.name) from unnest(v_queues) with ordinality as queue (name, position) order by position;

  insert into pgflow.steps (
    flow_slug, step_slug, queue_name, step_type, step_index, deps_count,
    opt_max_attempts, opt_base_delay, opt_timeout, opt_start_delay,
    required_input_pattern, forbidden_input_pattern, when_unmet, when_exhausted
  )
  select
    p_flow_slug,
    step.body ->> 'slug',
    v_routes -> (step.position - 1)::int ->> 'queueName',
    coalesce(step.body ->> 'stepType', 'single'),
    step.position - 1,
    jsonb_array_length(coalesce(nullif(step.body -> 'dependencies', 'null'), '[]')),
    (step.body #>> '{options,maxAttempts}')::numeric::int,
    (step.body #>> '{options,baseDelay}')::numeric::int,
    (step.body #>> '{options,timeout}')::numeric::int,
    (step.body #>> '{options,startDelay}')::numeric::int,
    case when step.body #> '{requiredInputPattern,defined}' = 'true' then step.body #> '{requiredInputPattern,value}' end,
    case when step.body #> '{forbiddenInputPattern,defined}' = 'true' then step.body #> '{forbiddenInputPattern,value}' end,
    coalesce(step.body ->> 'whenUnmet', 'skip'),
    coalesce(step.body ->> 'whenExhausted', 'fail')
  from jsonb_array_elements(pgflow._shape_steps(p_flow_slug, p_shape)) with ordinality as step (body, position);

  insert into pgflow.deps (flow_slug, dep_slug, step_slug)
  select p_flow_slug, dependency.slug, step.body ->> 'slug'
    from jsonb_array_elements(pgflow._shape_steps(p_flow_slug, p_shape)) as step (body),
      jsonb_array_elements_text(
        coalesce(nullif(step.body -> 'dependencies', 'null'), '[]')
      ) as dependency (slug);
end;
$$;
