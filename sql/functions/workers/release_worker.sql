-- pgflow.release_worker: a worker's process is dead; settle what it held.
-- Called by: the supervisor after it has reaped the process, again from its journal until it has succeeded.
-- Locks: the worker's row, runs (ascending), step_tasks, queue rows.
-- Promises: no statement of the dead worker is still running afterwards (its backends are terminated first). A guilty
--   message's task keeps its attempt, counts a crash, and fails with the reason: retried or ended by its step's policy.
--   Every other task of the worker goes back as release_tasks does it. Returns how many tasks were given back or failed;
--   asked again, or for a worker that never registered, it does nothing and returns 0. A task that somebody claims in the
--   worker's name meanwhile is left to the next call.
-- Refuses: when a backend of the worker belongs to a role that we may not signal; an old snapshot (isolation_level), in
--   which the worker's last claims are missing.

create or replace function pgflow.release_worker(worker_id uuid, reason text, guilty bigint[] default '{}')
returns int
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
declare
  v_is_fresh constant boolean := pgflow._require_read_committed('release_worker');
  v_held record;
  v_run_ids uuid[];
  v_step_slugs text[];
  v_task_indexes int[];
  v_attempts int[];
  v_outcomes text[];
  v_failed int := 0;
begin
  perform pg_terminate_backend(a.pid, 1000)
    from pg_catalog.pg_stat_activity a
    where a.application_name = 'pgflow:' || release_worker.worker_id and a.pid <> pg_backend_pid();

  update pgflow.workers w
    set stopped_at = coalesce(w.stopped_at, clock_timestamp())
    where w.worker_id = release_worker.worker_id;

  v_held := pgflow._hold_tasks_in_hand(release_worker.worker_id, null);

  with crashed as (
    update pgflow.step_tasks t
      set crash_count = t.crash_count + 1
      from unnest(v_held.run_ids, v_held.step_slugs, v_held.task_indexes) as held (run_id, step_slug, task_index)
      cross join lateral (
        select task.ctid
          from pgflow.step_tasks task
          where task.run_id = held.run_id and task.step_slug = held.step_slug and task.task_index = held.task_index
          offset 0
      ) found
      where t.ctid = found.ctid
        and t.last_worker_id = release_worker.worker_id
        and t.status = 'started'
        and t.permanently_stalled_at is null
        and t.message_id = any(guilty)
      returning t.run_id, t.step_slug, t.task_index, t.attempts_count
  )
  select array_agg(crashed.run_id), array_agg(crashed.step_slug), array_agg(crashed.task_index),
      array_agg(crashed.attempts_count)
    into v_run_ids, v_step_slugs, v_task_indexes, v_attempts
    from crashed;

  if v_run_ids is not null then
    v_failed := cardinality(v_run_ids);
    v_outcomes := pgflow._fail_tasks(
      v_run_ids, v_step_slugs, v_task_indexes, v_attempts,
      array_fill(reason, array[v_failed]), array_fill(false, array[v_failed]), release_worker.worker_id
    );
  end if;
  return v_failed + pgflow._release_tasks(
    release_worker.worker_id, v_held.run_ids, v_held.step_slugs, v_held.task_indexes
  );
end;
$$;
