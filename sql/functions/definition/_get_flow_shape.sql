-- pgflow._get_flow_shape: a stored definition in the form that workers send.
-- Called by: ensure_flow_compiled, tools.    Locks: none.
-- Promises: steps in their order, dependencies sorted bytewise, no options (they are never compared); {"steps": []} for
--   a flow that does not exist.
create or replace function pgflow._get_flow_shape(p_flow_slug text) returns jsonb
language plpgsql stable set search_path = pg_catalog, pg_temp
as $$
begin
  return (
    select jsonb_build_object('steps', coalesce(
      jsonb_agg(
        jsonb_build_object(
          'slug', s.step_slug,
          'stepType', s.step_type,
          'dependencies', (
            select coalesce(jsonb_agg(d.dep_slug order by d.dep_slug collate "C"), '[]')
              from pgflow.deps d where d.flow_slug = s.flow_slug and d.step_slug = s.step_slug
          ),
          'whenUnmet', s.when_unmet,
          'whenExhausted', s.when_exhausted,
          'requiredInputPattern', case
            when s.required_input_pattern is null then '{"defined": false}'
            else jsonb_build_object('defined', true, 'value', s.required_input_pattern)
          end,
          'forbiddenInputPattern', case
            when s.forbidden_input_pattern is null then '{"defined": false}'
            else jsonb_build_object('defined', true, 'value', s.forbidden_input_pattern)
          end
        )
        order by s.step_index
      ),
      '[]'
    ))
    from pgflow.steps s where s.flow_slug = p_flow_slug
  );
end;
$$;
