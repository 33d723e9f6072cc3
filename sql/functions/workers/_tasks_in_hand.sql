-- pgflow._tasks_in_hand: the tasks of these queues that somebody has claimed and not settled, whoever that is.
-- Called by: what gives tasks back: release_tasks, release_worker, requeue_stalled_tasks; drain_status.    Locks: none.
-- Promises: found through the messages that have been read at least once, so that step_tasks needs no index which names
--   its status: an update that changes no indexed column stays on its page, and a task is claimed and settled by such updates
--   (decision 0006). A queue that was dropped is searched by its tasks. A task that has stalled for good is in nobody's hand.

create or replace function pgflow._tasks_in_hand(queue_names text[])
returns table (
  flow_slug text,
  run_id uuid,
  step_slug text,
  task_index int,
  queue_name text,
  message_id bigint,
  last_worker_id uuid,
  started_at timestamptz
)
language plpgsql
stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
declare
  v_queue_name text;
begin
  foreach v_queue_name in array queue_names loop
    if pgflow._queue_exists(v_queue_name) then
      -- In order: without it no index serves, and the price of a forbidden scan has the statement compiled (JIT) at each call.
      return query execute format(
        'select t.*
          from (select m.msg_id from pgmq.%I m where m.read_ct > 0 order by m.msg_id) q
          cross join lateral (
            select task.flow_slug, task.run_id, task.step_slug, task.task_index, task.queue_name, task.message_id,
                task.last_worker_id, task.started_at
              from pgflow.step_tasks task
              where task.queue_name = $1
                and task.message_id = q.msg_id
                and task.status = ''started''
                and task.permanently_stalled_at is null
              offset 0
          ) t',
        pgmq.format_table_name(v_queue_name, 'q')
      ) using v_queue_name;
    else
      return query
        select task.flow_slug, task.run_id, task.step_slug, task.task_index, task.queue_name, task.message_id,
            task.last_worker_id, task.started_at
          from pgflow.step_tasks task
          where task.queue_name = v_queue_name and task.status = 'started' and task.permanently_stalled_at is null;
    end if;
  end loop;
end;
$$;
