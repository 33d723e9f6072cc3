-- pgflow.stalled_tasks: tasks that no worker gets and that keep their runs from ending: they have stalled for good, or their
--   message was purged, or the queue was dropped.
-- Called by: operators, who then call requeue_tasks, or fail_tasks with the attempts told here, or cancel_run.    Locks: none.
-- Promises: the oldest first; of one flow or of all. stalled_at is NULL of a task whose message is gone, queued or in the hand
--   of a worker that has been silent for its timeout + 30 s; these come last. They are found through the started steps of started runs, so what is over costs nothing but its run.

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
    union all
    select waiting.flow_slug, waiting.run_id, waiting.step_slug, waiting.task_index, waiting.attempt, waiting.queue_name,
        waiting.last_worker_id, null
      from (
        select array_agg(t.flow_slug) as flow_slugs, array_agg(t.run_id) as run_ids, array_agg(t.step_slug) as step_slugs,
            array_agg(t.task_index) as task_indexes, array_agg(t.attempts_count) as attempts,
            array_agg(t.queue_name) as queue_names, array_agg(t.message_id) as message_ids,
            array_agg(t.last_worker_id) as last_worker_ids
          from pgflow.runs r
          join pgflow.step_states ss on ss.run_id = r.run_id and ss.status = 'started'
          join pgflow.step_tasks t on t.run_id = ss.run_id and t.step_slug = ss.step_slug
            and t.permanently_stalled_at is null
            and (t.status = 'queued' or t.status = 'started' and pgflow._is_overdue(t.flow_slug, t.step_slug, t.started_at))
          where r.status = 'started' and (p_flow_slug is null or r.flow_slug = p_flow_slug)
      ) queued
      cross join lateral unnest(
        queued.flow_slugs, queued.run_ids, queued.step_slugs, queued.task_indexes, queued.attempts, queued.queue_names,
        queued.last_worker_ids, pgflow._lost_messages(queued.queue_names, queued.message_ids)
      ) as waiting (flow_slug, run_id, step_slug, task_index, attempt, queue_name, last_worker_id, is_lost)
      where waiting.is_lost
    order by 8, 2, 3, 4;
end;
$$;
