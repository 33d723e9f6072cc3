-- pgflow._lock_runs_in_hand: lock the runs whose tasks a worker has in hand.
-- Called by: release_tasks, release_worker.    Locks: runs (ascending).
-- Promises: the runs locked; all at once and in order, so that two releases that share runs do not take them in turns, and
--   nobody settles the worker's tasks of them from now on. Without msg_ids all its tasks are meant.

create or replace function pgflow._lock_runs_in_hand(worker_id uuid, msg_ids bigint[] default null)
returns uuid[]
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
begin
  return array(
    select r.run_id
      from pgflow.runs r
      where r.run_id in (
        select t.run_id
          from pgflow.step_tasks t
          where t.last_worker_id = _lock_runs_in_hand.worker_id
            and t.status = 'started'
            and t.permanently_stalled_at is null
            and (msg_ids is null or t.message_id = any(msg_ids))
      )
      order by r.run_id
      for no key update
  );
end;
$$;
