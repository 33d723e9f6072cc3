-- pgflow._exhaust_task: end a started task that has no attempt left, and let its step's when_exhausted decide the rest.
-- Called by: _fail_tasks, under the run's lock.    Locks: step_tasks, step_states, runs, queue rows.
-- Promises: fail: the step and the run fail. skip: the step is skipped and its dependents go on without it. skip-cascade:
--   all that depends on it is skipped as well. Returns false, and changes nothing, when the task is not the started
--   attempt that the caller means.

create or replace function pgflow._exhaust_task(
  run_id uuid,
  step_slug text,
  task_index int,
  attempt int,
  error_message text,
  permanent boolean,
  worker_id uuid
)
returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
  v_run_ids uuid[] := array[_exhaust_task.run_id];
  v_step_slugs text[] := array[_exhaust_task.step_slug];
  v_when_exhausted text;
  v_queue_name text;
  v_message_id bigint;
  v_done int;
begin
  update pgflow.step_tasks t
    set status = 'failed',
      failed_at = greatest(clock_timestamp(), t.started_at),
      error_message = _exhaust_task.error_message
    from pgflow.runs r, pgflow.step_states ss, pgflow.steps s, pgflow.flows f
    where t.run_id = _exhaust_task.run_id
      and t.step_slug = _exhaust_task.step_slug
      and t.task_index = _exhaust_task.task_index
      and t.status = 'started'
      and t.last_worker_id is not distinct from coalesce(_exhaust_task.worker_id, t.last_worker_id)
      and t.attempts_count = coalesce(_exhaust_task.attempt, t.attempts_count)
      and r.run_id = t.run_id
      and r.status = 'started'
      and ss.run_id = t.run_id
      and ss.step_slug = t.step_slug
      and ss.status = 'started'
      and s.flow_slug = ss.flow_slug
      and s.step_slug = ss.step_slug
      and f.flow_slug = ss.flow_slug
      -- Once more, because a task that was requeued and claimed anew meanwhile has an attempt that the caller does not mean.
      and (
        _exhaust_task.permanent
        or t.permanently_stalled_at is not null
        or t.attempts_count >= coalesce(s.opt_max_attempts, f.opt_max_attempts)
      )
    returning s.when_exhausted, t.queue_name, t.message_id into v_when_exhausted, v_queue_name, v_message_id;
  if not found then
    return false;
  end if;

  if v_when_exhausted = 'fail' then
    v_done := pgflow._fail_runs(v_run_ids, v_step_slugs, array[_exhaust_task.error_message]);
  else
    update pgflow.step_states ss
      set status = 'skipped',
        skip_reason = 'handler_failed',
        skipped_at = greatest(clock_timestamp(), ss.created_at),
        remaining_tasks = null,
        error_message = _exhaust_task.error_message
      where ss.run_id = _exhaust_task.run_id and ss.step_slug = _exhaust_task.step_slug;
    v_done := pgflow._close_tasks('skipped', v_run_ids, v_step_slugs);
    if pgflow._emits() then
      v_done := pgflow._emit_steps(v_run_ids, v_step_slugs);
    end if;
    if v_when_exhausted = 'skip-cascade' then
      perform pgflow._count_off(pgflow._force_skip_steps(v_run_ids, v_step_slugs, 'handler_failed'));
    end if;
    v_done := pgflow._advance_runs(v_run_ids, v_step_slugs);
  end if;

  v_done := pgflow._archive_messages(array[v_queue_name], array[v_message_id]);
  return true;
end;
$$;
