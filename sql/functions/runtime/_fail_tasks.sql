-- pgflow._fail_tasks: record failed attempts; retry those that may be, end the others by their step's policy.
-- Called by: fail_task (one task, no fence), fail_tasks (many), release_worker (a crash is a failed attempt).
-- Locks: runs (ascending), step_tasks, queue rows, step_states; see _complete_tasks.
-- Promises: outcomes[i] as _complete_tasks defines them. With attempts left the task is queued again and its message delayed
--   by the retry delay; all retries are one statement. Without, or when permanents[i], when_exhausted decides. A task that
--   stalled for good has no message any more, so it is never retried.

create or replace function pgflow._fail_tasks(
  run_ids uuid[],
  step_slugs text[],
  task_indexes int[],
  attempts int[],
  error_messages text[],
  permanents boolean[],
  worker_id uuid
)
returns text[]
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
  v_applied bigint[];
  v_exhausted bigint[];
  v_position bigint;
  v_queue_names text[];
  v_message_ids bigint[];
  v_delays int[];
  v_outcomes text[];
  v_done int;
begin
  perform from pgflow.runs r where r.run_id = any(run_ids) order by r.run_id for no key update;

  with asked as materialized (
    select t.ctid, a.run_id, a.task_index, a.attempt, a.error_message, a.position,
        coalesce(a.permanent, false) as permanent, s.step_index,
        s.max_attempts, s.base_delay
      from unnest(run_ids, step_slugs, task_indexes, attempts, error_messages, permanents) with ordinality
        as a (run_id, step_slug, task_index, attempt, error_message, permanent, position)
      cross join lateral (
        select run.flow_slug from pgflow.runs run where run.run_id = a.run_id and run.status = 'started' offset 0
      ) r
      cross join lateral (
        select from pgflow.step_states state
          where state.run_id = a.run_id and state.step_slug = a.step_slug and state.status = 'started'
          offset 0
      ) ss
      cross join lateral (
        select step.step_index,
            coalesce(step.opt_max_attempts, flow.opt_max_attempts) as max_attempts,
            coalesce(step.opt_base_delay, flow.opt_base_delay) as base_delay
          from pgflow.steps step, pgflow.flows flow
          where step.flow_slug = r.flow_slug and step.step_slug = a.step_slug and flow.flow_slug = r.flow_slug
          offset 0
      ) s
      cross join lateral (
        select task.ctid
          from pgflow.step_tasks task
          where task.run_id = a.run_id and task.step_slug = a.step_slug and task.task_index = a.task_index
          offset 0
      ) t
  ),
  retried as (
    update pgflow.step_tasks t
      set status = 'queued', started_at = null, error_message = asked.error_message
      from asked
      where not asked.permanent
        and t.ctid = asked.ctid
        and t.status = 'started'
        and t.permanently_stalled_at is null
        and t.attempts_count < asked.max_attempts
        and t.last_worker_id is not distinct from coalesce(_fail_tasks.worker_id, t.last_worker_id)
        and t.attempts_count = coalesce(asked.attempt, t.attempts_count)
      returning t.queue_name, t.message_id, asked.position,
        pgflow.calculate_retry_delay(asked.base_delay, t.attempts_count) as delay
  ),
  exhausted as (
    select array_agg(asked.position order by asked.run_id, asked.step_index, asked.task_index) as positions
      from asked
      where asked.position not in (select retried.position from retried)
  )
  select
      array_agg(retried.position), array_agg(retried.queue_name), array_agg(retried.message_id), array_agg(retried.delay),
      (select exhausted.positions from exhausted)
    into v_applied, v_queue_names, v_message_ids, v_delays, v_exhausted
    from retried;

  if v_applied is not null then
    v_done := pgflow._show_messages(v_queue_names, v_message_ids, v_delays);
  end if;

  if v_exhausted is not null then
    foreach v_position in array v_exhausted loop
      if pgflow._exhaust_task(
        run_ids[v_position], step_slugs[v_position], task_indexes[v_position], attempts[v_position],
        error_messages[v_position], permanents[v_position], _fail_tasks.worker_id
      ) then
        v_applied := v_applied || v_position;
      end if;
    end loop;
  end if;

  v_outcomes := pgflow._settled_outcomes(
    run_ids, step_slugs, task_indexes, attempts, _fail_tasks.worker_id, v_applied
  );
  -- Once more, one by one: what recovery changed under the update, see _settled_outcomes.
  v_position := array_position(v_outcomes, 'missed');
  while v_position is not null loop
    v_outcomes[v_position] := (pgflow._fail_tasks(
      run_ids[v_position:v_position], step_slugs[v_position:v_position], task_indexes[v_position:v_position],
      attempts[v_position:v_position], error_messages[v_position:v_position], permanents[v_position:v_position],
      _fail_tasks.worker_id
    ))[1];
    v_position := array_position(v_outcomes, 'missed');
  end loop;
  return v_outcomes;
end;
$$;
