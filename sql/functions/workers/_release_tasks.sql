-- pgflow._release_tasks: give a worker's started tasks of these runs back as if it had never claimed them.
-- Called by: release_tasks, release_worker, who hold the runs.    Locks: step_tasks, queue rows.
-- Promises: what release_tasks does. A task that the worker claimed since the runs were locked, in another run, is left
--   alone: to take its row without its run could end in a deadlock with whoever settles that run.

create or replace function pgflow._release_tasks(worker_id uuid, msg_ids bigint[], run_ids uuid[])
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
      where t.last_worker_id = _release_tasks.worker_id
        and t.status = 'started'
        and t.permanently_stalled_at is null
        and t.run_id = any(run_ids)
        and (msg_ids is null or t.message_id = any(msg_ids))
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
