-- pgflow.fail_task: record that an attempt of one task failed.
-- Called by: workers and tests that settle one by one; our worker uses fail_tasks.    Locks: as _fail_tasks.
-- Promises: the task's row as it is afterwards; none for an unknown task. With attempts left it is queued again with its
--   message delayed, else when_exhausted decides. A task that is not started keeps its row and its message's delay.

create or replace function pgflow.fail_task(run_id uuid, step_slug text, task_index int, error_message text)
returns setof pgflow.step_tasks
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
  v_outcomes text[] := pgflow._fail_tasks(
    array[fail_task.run_id], array[fail_task.step_slug], array[fail_task.task_index], array[null::int],
    array[fail_task.error_message], array[false], null
  );
begin
  return query
    select t.*
      from pgflow.step_tasks t
      where t.run_id = fail_task.run_id
        and t.step_slug = fail_task.step_slug
        and t.task_index = fail_task.task_index;
end;
$$;
