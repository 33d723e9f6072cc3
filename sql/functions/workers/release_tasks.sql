-- pgflow.release_tasks: give a worker's started tasks back as if it had never claimed them.
-- Called by: store::WorkerStore when a drain ends before its handlers do, release_worker.
-- Locks: runs (ascending), step_tasks, queue rows.
-- Promises: the attempt is refunded, the message visible now; requeued_count is not touched, so a neighbour's crash never
--   stalls an innocent task. Without msg_ids all of them. Returns how many were given back.

create or replace function pgflow.release_tasks(worker_id uuid, msg_ids bigint[] default null)
returns int
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
declare
  v_queue_names text[];
  v_message_ids bigint[];
  v_done int;
begin
  -- Under their runs' locks nobody can be settling these tasks at the same time.
  perform
    from pgflow.runs r
    where r.run_id in (
      select t.run_id
        from pgflow.step_tasks t
        where t.last_worker_id = release_tasks.worker_id
          and t.status = 'started'
          and t.permanently_stalled_at is null
          and (msg_ids is null or t.message_id = any(msg_ids))
    )
    order by r.run_id
    for no key update;

  with released as (
    update pgflow.step_tasks t
      set status = 'queued', started_at = null, last_worker_id = null, attempts_count = t.attempts_count - 1
      where t.last_worker_id = release_tasks.worker_id
        and t.status = 'started'
        and t.permanently_stalled_at is null
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
