-- pgflow.heartbeat_with_tasks: heartbeat, and which of the tasks that a worker is running are its own no more.
-- Called by: store::WorkerStore every 2 s.    Locks: the worker's row.
-- Promises: exactly one row. It is not known, and the two answers of heartbeat are null, where heartbeat gives no row. A task
--   is a message id and an attempt; lost_positions are the places, from 1, of those that are not started by this worker in
--   this attempt: cancelled with their run, skipped, taken back, deleted. Nobody waits for what they will return.

create or replace function pgflow.heartbeat_with_tasks(worker_id uuid, msg_ids bigint[], attempts int[])
returns table (is_known boolean, is_deprecated boolean, function_enabled boolean, lost_positions int[])
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
begin
  return query
    select beat.function_enabled is not null, beat.is_deprecated, beat.function_enabled, array(
        select running.n::int
          from unnest(msg_ids, attempts) with ordinality running (msg_id, attempt, n)
          where not exists (
            select from pgflow.step_tasks t
              where t.last_worker_id = heartbeat_with_tasks.worker_id
                and t.status = 'started'
                and t.permanently_stalled_at is null
                and t.message_id = running.msg_id
                and t.attempts_count = running.attempt
          )
          order by running.n
      )
      from (select) one
      left join pgflow.heartbeat(heartbeat_with_tasks.worker_id) beat on true;
end;
$$;
