-- pgflow.stalled_tasks: tasks that have stalled for good, which no worker gets and which keep their runs from ending.
-- Called by: operators, who then call requeue_tasks, or fail_tasks with the attempts told here, or cancel_run.    Locks: none.
-- Promises: the oldest first; of one flow or of all.

create or replace function pgflow.stalled_tasks(p_flow_slug text default null)
returns table (
  flow_slug text,
  run_id uuid,
  step_slug text,
  task_index int,
  attempt int,
  queue_name text,
  last_worker_id uuid,
  stalled_at timestamptz
)
language plpgsql
stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
begin
  return query
    select t.flow_slug, t.run_id, t.step_slug, t.task_index, t.attempts_count, t.queue_name, t.last_worker_id,
        t.permanently_stalled_at
      from pgflow.step_tasks t
      where t.permanently_stalled_at is not null
        and t.status = 'started'
        and (p_flow_slug is null or t.flow_slug = p_flow_slug)
      order by t.permanently_stalled_at, t.run_id, t.step_slug, t.task_index;
end;
$$;
