-- pgflow._is_settle_item: whether the members of a settling call's item have the JSON types they must have.
-- Called by: complete_tasks and fail_tasks for each item, _settle_items.    Locks: none.
-- Promises: true or false. Whether a text is a uuid and a number an int is left to the cast; nothing is converted: "1" is no
--   attempt and 7 is no error.

create or replace function pgflow._is_settle_item(item jsonb)
returns boolean
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return coalesce(
    jsonb_typeof(item -> 'run_id') = 'string'
      and jsonb_typeof(item -> 'step_slug') = 'string'
      and jsonb_typeof(item -> 'task_index') = 'number'
      and coalesce(jsonb_typeof(item -> 'attempt'), 'null') in ('number', 'null')
      and coalesce(jsonb_typeof(item -> 'error'), 'null') in ('string', 'null')
      and coalesce(jsonb_typeof(item -> 'permanent'), 'null') in ('boolean', 'null'),
    false
  );
end;
$$;
