-- pgflow._claim_tasks: claim the queued tasks behind these messages for one worker.
-- Called by: start_tasks, read_and_claim, after they have checked the selector.
-- Locks: step_tasks, then queue rows. It waits for no task: one that somebody else holds is left to them, so that a caller
--   who already holds queue rows (read_and_claim) cannot deadlock with those who lock tasks first.
-- Promises: only queued tasks of this flow, queue and step whose run and step are started; each costs one attempt, and its
--   message is invisible for timeout + 2 s before the row is returned. hidden_for: the messages are leased by this
--   transaction for that many seconds already. A shared array (run input or dependency) is opened once for each step.
-- Refuses: a task for an unknown worker (23503); a claimed task whose message is gone (everything rolls back).

create or replace function pgflow._claim_tasks(
  flow_slug text,
  queue_name text,
  step_slug text,
  msg_ids bigint[],
  worker_id uuid,
  with_flow_input boolean,
  hidden_for int default null
)
returns table (
  msg_id bigint,
  run_id uuid,
  claimed_step_slug text,
  task_index int,
  attempt int,
  max_attempts int,
  timeout_seconds int,
  input jsonb,
  flow_input jsonb
)
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
  v_msg_ids bigint[];
  v_run_ids uuid[];
  v_step_slugs text[];
  v_task_indexes int[];
  v_attempts int[];
  v_shown_ids bigint[];
  v_shown_for int[];
  v_updated int;
begin
  with candidates as materialized (
    -- Every row is looked up by its whole key, see _complete_tasks.
    select t.ctid, s.hidden
      from (select distinct given.id from unnest(msg_ids) as given (id)) message
      cross join lateral (
        select task.ctid, task.run_id, task.step_slug
          from pgflow.step_tasks task
          where task.queue_name = _claim_tasks.queue_name
            and task.message_id = message.id
            and task.flow_slug = _claim_tasks.flow_slug
            and (_claim_tasks.step_slug is null or task.step_slug = _claim_tasks.step_slug)
            and task.status = 'queued'
          for no key update skip locked
      ) t
      cross join lateral (
        select from pgflow.runs run where run.run_id = t.run_id and run.status = 'started' offset 0
      ) r
      cross join lateral (
        select from pgflow.step_states state
          where state.run_id = t.run_id and state.step_slug = t.step_slug and state.status = 'started'
          offset 0
      ) ss
      cross join lateral (
        select least(coalesce(step.opt_timeout, flow.opt_timeout), 2147483645) + 2 as hidden
          from pgflow.steps step, pgflow.flows flow
          where step.flow_slug = _claim_tasks.flow_slug
            and step.step_slug = t.step_slug
            and flow.flow_slug = _claim_tasks.flow_slug
          offset 0
      ) s
  ),
  claimed as (
    update pgflow.step_tasks t
      set status = 'started',
        attempts_count = t.attempts_count + 1,
        started_at = greatest(clock_timestamp(), t.queued_at),
        last_worker_id = _claim_tasks.worker_id
      from candidates
      where t.ctid = candidates.ctid and t.status = 'queued'
      returning t.message_id, t.run_id, t.step_slug, t.task_index, t.attempts_count, candidates.hidden
  )
  select
      array_agg(claimed.message_id order by claimed.message_id),
      array_agg(claimed.run_id order by claimed.message_id),
      array_agg(claimed.step_slug order by claimed.message_id),
      array_agg(claimed.task_index order by claimed.message_id),
      array_agg(claimed.attempts_count order by claimed.message_id),
      array_agg(claimed.message_id) filter (where claimed.hidden is distinct from hidden_for),
      array_agg(claimed.hidden) filter (where claimed.hidden is distinct from hidden_for)
    into v_msg_ids, v_run_ids, v_step_slugs, v_task_indexes, v_attempts, v_shown_ids, v_shown_for
    from claimed;

  if v_msg_ids is null then
    return;
  end if;

  if not exists (select from pgflow.workers w where w.worker_id = _claim_tasks.worker_id) then
    raise exception using
      errcode = 'foreign_key_violation',
      schema = 'pgflow',
      table = 'step_tasks',
      constraint = 'step_tasks_last_worker_id_fkey',
      message = format('Worker %s is not registered.', coalesce(_claim_tasks.worker_id::text, 'NULL')),
      detail = 'A task remembers the worker that holds it, so the worker must have a row in pgflow.workers first.',
      hint = 'Call pgflow.register_worker() before the first claim.';
  end if;

  if v_shown_ids is not null then
    select count(*) into v_updated from pgflow._set_vt_batch(_claim_tasks.queue_name, v_shown_ids, v_shown_for);
    if v_updated <> cardinality(v_shown_ids) then
      raise exception using
        constraint = 'pgflow_claim_visibility',
        message = format(
          'start_tasks(): visibility updated %s of %s claimed messages', v_updated, cardinality(v_shown_ids)
        ),
        detail = format('Messages of queue "%s" that tasks refer to are gone.', _claim_tasks.queue_name),
        hint = 'Something outside of pgflow deletes messages; nothing was claimed and no attempt was used.';
    end if;
  end if;

  return query
    select task.msg_id, batch.run_id, batch.step_slug, task.task_index, task.attempt,
        s.max_attempts, s.timeout_seconds,
        case s.step_type when 'map' then shared.value -> task.task_index else shared.value end,
        case when with_flow_input or (s.step_type = 'single' and s.deps_count = 0) then r.input end
      from (
        select claimed.run_id, claimed.step_slug,
            array_agg(claimed.msg_id) as msg_ids,
            array_agg(claimed.task_index) as task_indexes,
            array_agg(claimed.attempt) as attempts
          from unnest(v_run_ids, v_step_slugs, v_msg_ids, v_task_indexes, v_attempts)
            as claimed (run_id, step_slug, msg_id, task_index, attempt)
          group by claimed.run_id, claimed.step_slug
      ) batch
      cross join lateral (
        select run.input from pgflow.runs run where run.run_id = batch.run_id offset 0
      ) r
      cross join lateral (
        select step.step_slug, step.step_type, step.deps_count,
            coalesce(step.opt_max_attempts, flow.opt_max_attempts) as max_attempts,
            coalesce(step.opt_timeout, flow.opt_timeout) as timeout_seconds
          from pgflow.steps step, pgflow.flows flow
          where step.flow_slug = _claim_tasks.flow_slug
            and step.step_slug = batch.step_slug
            and flow.flow_slug = _claim_tasks.flow_slug
          offset 0
      ) s
      -- "offset 0" also keeps this one value a step; "#> '{}'" unpacks a stored array once, before it is indexed many times.
      cross join lateral (
        select case
            when s.step_type = 'map' and s.deps_count = 0 then r.input #> '{}'
            when s.step_type = 'map' then (
              select parent.output #> '{}'
                from pgflow.deps dep
                cross join lateral (
                  select state.output
                    from pgflow.step_states state
                    where state.run_id = batch.run_id and state.step_slug = dep.dep_slug
                    offset 0
                ) parent
                where dep.flow_slug = _claim_tasks.flow_slug and dep.step_slug = s.step_slug
            )
            when s.deps_count = 0 then '{}'::jsonb
            else (
              select coalesce(jsonb_object_agg(dep.dep_slug, parent.output), '{}')
                from pgflow.deps dep
                cross join lateral (
                  select state.output
                    from pgflow.step_states state
                    where state.run_id = batch.run_id and state.step_slug = dep.dep_slug and state.status = 'completed'
                    offset 0
                ) parent
                where dep.flow_slug = _claim_tasks.flow_slug and dep.step_slug = s.step_slug
            )
          end as value
          offset 0
      ) shared
      cross join lateral unnest(batch.msg_ids, batch.task_indexes, batch.attempts)
        as task (msg_id, task_index, attempt)
      order by task.msg_id;
end;
$$;
