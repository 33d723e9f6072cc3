-- pgflow._settle_items: the items of a settling call as rows, each with a verdict on its form.
-- Called by: complete_tasks, fail_tasks.    Locks: none.
-- Promises: one row for each item, in their order. An item is sound when it is an object with a run_id (uuid), a step_slug
--   (text), a task_index (whole number) and, if at all, an attempt (whole number) and permanent (boolean). Of another one
--   the columns hold what could be read, and task_index is NULL, which no task has.
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
set search_path = ''
as $$
begin
  if jsonb_typeof(items) <> 'array' then
    raise exception using
      errcode = 'invalid_parameter_value',
      constraint = 'pgflow_items_invalid',
      message = 'The items to settle are not an array.',
      detail = format('They are a JSON %s.', jsonb_typeof(items)),
      hint = 'Send an array of objects with run_id, step_slug and task_index.';
  end if;
  return query
    select item.position,
        case when form.has_run_id then (item.body ->> 'run_id')::uuid end,
        item.body ->> 'step_slug',
        case when form.is_sound then (item.body ->> 'task_index')::int end,
        case when form.is_sound then (item.body ->> 'attempt')::int end,
        item.body,
        form.is_sound
      from jsonb_array_elements(items) with ordinality as item (body, position)
      cross join lateral (
        select coalesce(
            item.body ->> 'run_id' ~* '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$', false
          ) as has_run_id
      ) key
      cross join lateral (
        select key.has_run_id,
            key.has_run_id
            and coalesce(jsonb_typeof(item.body -> 'step_slug') = 'string', false)
            -- A number of an int's length that is whole as it is written.
            and coalesce(
              jsonb_typeof(item.body -> 'task_index') = 'number' and item.body ->> 'task_index' ~ '^\d{1,9}$', false
            )
            and coalesce(item.body ->> 'attempt' ~ '^\d{1,9}$', true)
            and coalesce(jsonb_typeof(item.body -> 'permanent') in ('boolean', 'null'), true) as is_sound
      ) form;
end;
$$;
