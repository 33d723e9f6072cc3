-- pgflow._hold_tasks_in_hand: find the tasks that a worker has in hand, and lock their runs.
-- Called by: release_tasks, release_worker.    Locks: runs (ascending).
-- Promises: all runs at once and in order, so that two releases that share runs do not take them in turns, and nobody settles
--   these tasks from now on; what was settled before the lock is told all the same. With msg_ids those of them that are the
--   worker's, whether their messages are there or not.

create or replace function pgflow._hold_tasks_in_hand(
  worker_id uuid,
  msg_ids bigint[],
  out run_ids uuid[],
  out step_slugs text[],
  out task_indexes int[]
)
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
declare
  v_queue_names text[];
begin
  select pgflow._registered_queues(w.queue_name)
    into v_queue_names
    from pgflow.workers w
    where w.worker_id = _hold_tasks_in_hand.worker_id;
  if v_queue_names is null then
    return;
  end if;
  if msg_ids is null then
    select array_agg(t.run_id), array_agg(t.step_slug), array_agg(t.task_index)
      into run_ids, step_slugs, task_indexes
      from pgflow._tasks_in_hand(v_queue_names) t
      where t.last_worker_id = _hold_tasks_in_hand.worker_id;
  else
    select array_agg(t.run_id), array_agg(t.step_slug), array_agg(t.task_index)
      into run_ids, step_slugs, task_indexes
      from unnest(v_queue_names) as queue (name)
      cross join unnest(msg_ids) as message (id)
      cross join lateral (
        select task.run_id, task.step_slug, task.task_index
          from pgflow.step_tasks task
          where task.queue_name = queue.name
            and task.message_id = message.id
            and task.status = 'started'
            and task.last_worker_id = _hold_tasks_in_hand.worker_id
          offset 0
      ) t;
  end if;
  perform from pgflow.runs r where r.run_id = any(run_ids) order by r.run_id for no key update;
end;
$$;
