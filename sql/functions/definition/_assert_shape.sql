-- pgflow._assert_shape: the shape can be stored as it is: types, modes, options, and dependencies that come earlier.
-- Called by: _derive_queue_routes, after the slugs are known to be good.    Locks: none.
-- Promises: what passes violates no constraint of pgflow.steps and pgflow.deps.
-- Refuses: shape_invalid, duplicate_dependency, map_dependencies; the first problem in the order of the steps.
create or replace function pgflow._assert_shape(p_flow_slug text, p_shape jsonb) returns void
language plpgsql immutable set search_path = pg_catalog, pg_temp
as $$
declare
  v_problem record;
begin
  with step as (
    select
      (element.position - 1)::int as step_index,
      format('$.steps[%s]', element.position - 1) as path,
      element.value as body,
      element.value ->> 'slug' as slug,
      coalesce(nullif(element.value -> 'dependencies', 'null'), '[]') as dependencies
    from jsonb_array_elements(pgflow._shape_steps(p_flow_slug, p_shape)) with ordinality as element (value, position)
  ),
  dependency as (
    select step.step_index, step.path, step.slug, element.value as body, element.value #>> '{}' as dep_slug
    from step, jsonb_array_elements(
      case when jsonb_typeof(step.dependencies) = 'array' then step.dependencies else '[]' end
    ) as element (value)
  ),
  choice as (
    select step.step_index, step.path || '.' || rule.key as path, step.body -> rule.key as body, rule.allowed
    from step, (values
      ('stepType', array['single', 'map']),
      ('whenUnmet', array['fail', 'skip', 'skip-cascade']),
      ('whenExhausted', array['fail', 'skip', 'skip-cascade'])
    ) as rule (key, allowed)
  ),
  pattern as (
    select step.step_index, step.path || '.' || rule.key as path, step.body -> rule.key as body
    from step, (values ('requiredInputPattern'), ('forbiddenInputPattern')) as rule (key)
  ),
  holder as (
    select -1 as step_index, '$.options' as path, p_shape -> 'options' as body
    union all
    select step.step_index, step.path || '.options', step.body -> 'options' from step
  ),
  number as (
    select holder.step_index, holder.path || '.' || rule.key as path, holder.body -> rule.key as body, rule.least
    from holder, (values ('maxAttempts', 0), ('baseDelay', 0), ('timeout', 1), ('startDelay', 0)) as rule (key, least)
    where jsonb_typeof(holder.body) = 'object'
  ),
  problem as (
    select step.step_index, 1 as rank, 'shape_invalid' as kind, 'dependencies is not an array' as what,
        step.path || '.dependencies' as detail
      from step where jsonb_typeof(step.dependencies) <> 'array'
    union all
    select dependency.step_index, 2, 'shape_invalid',
        format('step "%s" depends on %s, which no earlier step is named', dependency.slug, dependency.body),
        dependency.path || '.dependencies'
      from dependency
      where jsonb_typeof(dependency.body) <> 'string' or not exists (
        select from step earlier
          where earlier.slug = dependency.dep_slug and earlier.step_index < dependency.step_index
      )
    union all
    select dependency.step_index, 3, 'duplicate_dependency', dependency.slug, dependency.dep_slug
      from dependency
      group by dependency.step_index, dependency.slug, dependency.dep_slug
      having count(*) > 1
    union all
    select dependency.step_index, 4, 'map_dependencies', dependency.slug,
        string_agg(dependency.dep_slug, ', ' order by dependency.dep_slug collate "C")
      from dependency join step using (step_index)
      where step.body ->> 'stepType' = 'map'
      group by dependency.step_index, dependency.slug
      having count(*) > 1
    union all
    select choice.step_index, 5, 'shape_invalid',
        format('%s is not one of %s', choice.body, array_to_string(choice.allowed, ', ')), choice.path
      from choice
      where jsonb_typeof(choice.body) <> 'null'
        and (jsonb_typeof(choice.body) <> 'string' or choice.body #>> '{}' <> all (choice.allowed))
    union all
    select pattern.step_index, 6, 'shape_invalid',
        'a pattern is {"defined": false} or {"defined": true, "value": {...}}', pattern.path
      from pattern
      where jsonb_typeof(pattern.body) <> 'null' and not coalesce(
        pattern.body = '{"defined": false}'
          or pattern.body -> 'defined' = 'true' and jsonb_typeof(pattern.body -> 'value') = 'object'
            and pattern.body - '{defined,value}'::text[] = '{}',
        false
      )
    union all
    select holder.step_index, 7, 'shape_invalid', 'options is not an object', holder.path
      from holder where jsonb_typeof(holder.body) not in ('object', 'null')
    union all
    select number.step_index, 8, 'shape_invalid',
        format('%s is not a whole number from %s to 2147483647', number.body, number.least), number.path
      from number
      where jsonb_typeof(number.body) <> 'null' and case
        when jsonb_typeof(number.body) <> 'number' then true
        else number.body::numeric <> trunc(number.body::numeric)
          or number.body::numeric not between number.least and 2147483647
      end
  )
  select * into v_problem from problem order by problem.step_index, problem.rank, problem.detail limit 1;
  if not found then
    return;
  end if;

  case v_problem.kind
    when 'shape_invalid' then
      raise exception using
        constraint = 'pgflow_shape_invalid',
        message = format('Shape of flow "%s" is malformed: %s.', p_flow_slug, v_problem.what),
        detail = format('At %s.', v_problem.detail),
        hint = 'Send the shape as the flow''s own description prints it.';
    when 'duplicate_dependency' then
      raise exception using
        constraint = 'pgflow_duplicate_dependency',
        message = format('Step "%s" of flow "%s" names a dependency twice.', v_problem.what, p_flow_slug),
        detail = format('The dependency is "%s".', v_problem.detail),
        hint = 'Name each dependency once.';
    when 'map_dependencies' then
      raise exception using
        constraint = 'pgflow_map_dependencies',
        message = format(
          'Map step "%s" of flow "%s" has several dependencies; it may have one.', v_problem.what, p_flow_slug
        ),
        detail = format('The dependencies are %s.', v_problem.detail),
        hint = 'Join them in a single step and map over its output.';
  end case;
end;
$$;
