-- pgflow._shape_steps: the steps of a shape as a JSON array, so that everybody else can rely on one.
-- Called by: _derive_queue_routes, _create_flow_from_shape.    Locks: none.
-- Promises: a missing shape, {} and missing steps are the empty flow; every element is an object with a text slug.
-- Refuses: shape_invalid, for anything else.
create or replace function pgflow._shape_steps(p_flow_slug text, p_shape jsonb) returns jsonb
language plpgsql immutable set search_path = pg_catalog, pg_temp
as $$
declare
  v_steps constant jsonb := coalesce(nullif(p_shape -> 'steps', 'null'), '[]');
  v_what text;
  v_path text;
begin
  if jsonb_typeof(p_shape) not in ('object', 'null') then
    v_what := 'it is not an object';
    v_path := '$';
  elsif jsonb_typeof(v_steps) <> 'array' then
    v_what := 'steps is not an array';
    v_path := '$.steps';
  else
    select
        case when jsonb_typeof(step.value) = 'object' then 'slug is not a text' else 'a step is not an object' end,
        format('$.steps[%s]', step.position - 1)
      into v_what, v_path
      from jsonb_array_elements(v_steps) with ordinality as step (value, position)
      where jsonb_typeof(step.value -> 'slug') is distinct from 'string'
      order by step.position limit 1;
  end if;

  if v_what is not null then
    raise exception using
      constraint = 'pgflow_shape_invalid',
      message = format('Shape of flow "%s" is malformed: %s.', p_flow_slug, v_what),
      detail = format('At %s.', v_path),
      hint = 'Send the shape as the flow''s own description prints it.';
  end if;
  return v_steps;
end;
$$;
