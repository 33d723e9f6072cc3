-- pgflow._settle_items: the items of a settling call as rows, each with a verdict on its form.
-- Called by: complete_tasks and fail_tasks, when reading all items at once has failed; requeue_tasks.    Locks: none.
-- Promises: one row for each item, in their order. An item is sound when _is_settle_item says so and its members can be read
--   as what they are. Of another one nothing but the step_slug comes back.
-- Refuses: items that are not an array (22023).

create or replace function pgflow._settle_items(items jsonb)
returns table (
  "position" bigint,
  run_id uuid,
  step_slug text,
  task_index int,
  attempt int,
  body jsonb,
  is_sound boolean
)
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  if jsonb_typeof(items) is distinct from 'array' then
    raise exception using
      errcode = 'invalid_parameter_value',
      constraint = 'pgflow_items_invalid',
      message = 'The items to settle are not an array.',
      detail = coalesce('They are a JSON ' || jsonb_typeof(items) || '.', 'They are NULL.'),
      hint = 'Send an array of objects with run_id, step_slug and task_index.';
  end if;

  for position, body in
    select item.position, item.body from jsonb_array_elements(items) with ordinality as item (body, position)
  loop
    step_slug := body ->> 'step_slug';
    begin
      run_id := (body ->> 'run_id')::uuid;
      task_index := (body ->> 'task_index')::int;
      attempt := (body ->> 'attempt')::int;
      is_sound := pgflow._is_settle_item(body);
    exception when data_exception then
      is_sound := false;
    end;
    if not is_sound then
      run_id := null;
      task_index := null;
    end if;
    return next;
  end loop;
end;
$$;
