-- pgflow._archive_task_message: archive one task's message through its stored queue.
-- Called by: operators and tests.    Locks: the queue row.
-- Promises: nothing happens when the task has no message or it is gone.

create or replace function pgflow._archive_task_message(p_run_id uuid, p_step_slug text, p_task_index int)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  perform pgflow._archive_messages(array[t.queue_name], array[t.message_id])
    from pgflow.step_tasks t
    where t.run_id = p_run_id and t.step_slug = p_step_slug and t.task_index = p_task_index;
end;
$$;
