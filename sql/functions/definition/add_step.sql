-- pgflow.add_step: one more step at the end of a flow in flow mode, routed to the default queue.
-- Called by: clients and direct SQL.    Locks: the definition.
-- Promises: idempotent: an existing step comes back unchanged, its route and options included.
-- Refuses: isolation_level, map_dependencies, duplicate_dependency, step_mode_incremental, step_redefinition (an existing
--   step with other dependencies or another type); an unknown flow or dependency (23503), a step that depends on itself (23514), an
--   invalid slug, mode or option (23514), a slug that differs from another step's in case only (23505).
create or replace function pgflow.add_step(
  flow_slug text,
  step_slug text,
  deps_slugs text[] default '{}',
  max_attempts int default null,
  base_delay int default null,
  timeout int default null,
  start_delay int default null,
  step_type text default 'single',
  required_input_pattern jsonb default null,
  forbidden_input_pattern jsonb default null,
  when_unmet text default 'skip',
  when_exhausted text default 'fail'
) returns pgflow.steps
language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
  v_flow_slug constant text := add_step.flow_slug;
  v_step_slug constant text := add_step.step_slug;
  v_deps constant text[] := array(
    select dep from unnest(add_step.deps_slugs) dep order by dep collate "C"
  );
  v_duplicate text;
  v_stored_deps text[];
  v_step pgflow.steps;
begin
  perform pgflow._require_read_committed('add_step');
  perform pgflow._lock_definition(v_flow_slug);

  if add_step.step_type = 'map' and cardinality(v_deps) > 1 then
    raise exception using
      constraint = 'pgflow_map_dependencies',
      message = format('Map step "%s" of flow "%s" has several dependencies; it may have one.', v_step_slug, v_flow_slug),
      detail = format('The dependencies are %s.', array_to_string(v_deps, ', ')),
      hint = 'Join them in a single step and map over its output.';
  end if;

  select dep into v_duplicate from unnest(v_deps) dep group by dep having count(*) > 1 order by dep collate "C" limit 1;
  if found then
    raise exception using
      constraint = 'pgflow_duplicate_dependency',
      message = format('Step "%s" of flow "%s" names a dependency twice.', v_step_slug, v_flow_slug),
      detail = format('The dependency is "%s".', v_duplicate),
      hint = 'Name each dependency once.';
  end if;

  if exists (select from pgflow.flows f where f.flow_slug = v_flow_slug and f.queue_mode = 'step') then
    raise exception using
      constraint = 'pgflow_step_mode_incremental',
      message = format('Flow "%s" is in step mode; steps cannot be added one by one.', v_flow_slug),
      detail = 'All routes of a step-mode flow are checked together before anything is written.',
      hint = 'Compile the complete shape with pgflow.ensure_flow_compiled.';
  end if;

  select s.* into v_step from pgflow.steps s where s.flow_slug = v_flow_slug and s.step_slug = v_step_slug;
  if found then
    v_stored_deps := array(
      select d.dep_slug from pgflow.deps d
        where d.flow_slug = v_flow_slug and d.step_slug = v_step_slug
        order by d.dep_slug collate "C"
    );
    if v_stored_deps <> v_deps or v_step.step_type <> add_step.step_type then
      raise exception using
        constraint = 'pgflow_step_redefinition',
        message = format('Step "%s" of flow "%s" exists with another definition.', v_step_slug, v_flow_slug),
        detail = format(
          'Stored: %s [%s]; asked: %s [%s].',
          v_step.step_type, array_to_string(v_stored_deps, ', '), add_step.step_type, array_to_string(v_deps, ', ')
        ),
        hint = 'Define the changed flow under a new slug.';
    end if;
    return v_step;
  end if;

  insert into pgflow.steps (
    flow_slug, step_slug, queue_name, step_type, step_index, deps_count,
    opt_max_attempts, opt_base_delay, opt_timeout, opt_start_delay,
    required_input_pattern, forbidden_input_pattern, when_unmet, when_exhausted
  )
  select
    v_flow_slug, v_step_slug, lower(v_flow_slug collate "C"), add_step.step_type,
    coalesce(max(s.step_index) + 1, 0), cardinality(v_deps),
    add_step.max_attempts, add_step.base_delay, add_step.timeout, add_step.start_delay,
    add_step.required_input_pattern, add_step.forbidden_input_pattern, add_step.when_unmet, add_step.when_exhausted
  from pgflow.steps s where s.flow_slug = v_flow_slug
  returning * into v_step;

  insert into pgflow.deps (flow_slug, dep_slug, step_slug)
  select v_flow_slug, dep, v_step_slug from unnest(v_deps) dep;

  return v_step;
end;
$$;
