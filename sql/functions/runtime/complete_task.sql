-- pgflow.complete_task: complete one task with its output and carry the run on.
-- Called by: workers and tests that settle one by one; our worker uses complete_tasks.    Locks: as _complete_tasks.
-- Promises: the task's row as it is afterwards; none for an unknown task. A task that is not started stays as it is, and a
--   leftover message of a finished step or run is archived. There is no fence: whoever holds the task, it completes.

create or replace function pgflow.complete_task(run_id uuid, step_slug text, task_index int, output jsonb)
returns setof pgflow.step_tasks
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
  v_outcomes text[] := pgflow._complete_tasks(
    array[complete_task.run_id], array[complete_task.step_slug], array[complete_task.task_index],
    array[null::int], array[complete_task.output], null
  );
begin
  return query
    select t.*
      from pgflow.step_tasks t
      where t.run_id = complete_task.run_id
        and t.step_slug = complete_task.step_slug
        and t.task_index = complete_task.task_index;
end;
$$;
