-- pgflow.release_tasks: give a worker's started tasks back as if it had never claimed them.
-- Called by: store::WorkerStore when a drain ends before its handlers do.
-- Locks: runs (ascending), step_tasks, queue rows.
-- Promises: the attempt is refunded, the message visible now; requeued_count is not touched, so a neighbour's crash never
--   stalls an innocent task. Without msg_ids all of them. Returns how many were given back.
-- Refuses: an old snapshot (isolation_level), in which later claims are missing.

create or replace function pgflow.release_tasks(worker_id uuid, msg_ids bigint[] default null)
returns int
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_is_fresh constant boolean := pgflow._require_read_committed('release_tasks');
  v_held record;
begin
  v_held := pgflow._hold_tasks_in_hand(release_tasks.worker_id, msg_ids);
  return pgflow._release_tasks(release_tasks.worker_id, v_held.run_ids, v_held.step_slugs, v_held.task_indexes);
end;
$$;
