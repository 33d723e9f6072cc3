-- pgflow._release_tasks: give these tasks back as if the worker had never claimed them, as far as it still has them in hand.
-- Called by: release_tasks, release_worker, who hold the runs.    Locks: step_tasks, queue rows.
-- Promises: what release_tasks does.

create or replace function pgflow._release_tasks(worker_id uuid, run_ids uuid[], step_slugs text[], task_indexes int[])
returns int
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
declare
  v_queue_names text[];
  v_message_ids bigint[];
  v_done int;
begin
  with released as (
    update pgflow.step_tasks t
      set status = 'queued', started_at = null, last_worker_id = null, attempts_count = t.attempts_count - 1
      from unnest(run_ids, step_slugs, task_indexes) as held (run_id, step_slug, task_index)
      cross join lateral (
        -- By its whole key, see _complete_tasks.
        select task.ctid
          from pgflow.step_tasks task
          where task.run_id = held.run_id and task.step_slug = held.step_slug and task.task_index = held.task_index
          offset 0
      ) found
      where t.ctid = found.ctid
        and t.last_worker_id = _release_tasks.worker_id
        and t.status = 'started'
        and t.permanently_stalled_at is null
      returning t.queue_name, t.message_id
  )
  select array_agg(released.queue_name), array_agg(released.message_id)
    into v_queue_names, v_message_ids
    from released;

  if v_message_ids is null then
    return 0;
  end if;
  v_done := pgflow._show_messages(v_queue_names, v_message_ids, array_fill(0, array[cardinality(v_message_ids)]));
  return cardinality(v_message_ids);
end;
$$;
