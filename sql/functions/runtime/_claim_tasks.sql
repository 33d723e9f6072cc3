-- pgflow._claim_tasks: claim the queued tasks behind these messages for one worker.
-- Called by: start_tasks, read_and_claim, after they have checked the selector.
-- Locks: step_tasks, then queue rows. It waits for no task: one that somebody else holds is left to them, so that a caller
--   who already holds queue rows (read_and_claim) cannot deadlock with those who lock tasks first.
-- Promises: only queued tasks of this flow, queue and step whose run and step are started; each costs one attempt, and its
--   message is invisible for timeout + 2 s before the row is returned. hidden_for: the messages are leased by this
--   transaction for that many seconds already. A shared array (run input or dependency) is opened once for each run and step.
--   The rows come step by step.
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
  v_step record;
begin
  -- A queued task's run and step are started: whatever ends them takes their tasks along.
  with found as materialized (
    -- Every row is looked up by its whole key, see _complete_tasks.
    select t.ctid
      from (select distinct given.id from unnest(msg_ids) as given (id)) message
      cross join lateral (
        select task.ctid
          from pgflow.step_tasks task
          where task.queue_name = _claim_tasks.queue_name
            and task.message_id = message.id
            and task.flow_slug = _claim_tasks.flow_slug
            and (_claim_tasks.step_slug is null or task.step_slug = _claim_tasks.step_slug)
            and task.status = 'queued'
          for no key update skip locked
      ) t
  ),
  claimed as (
    update pgflow.step_tasks t
      set status = 'started',
        attempts_count = t.attempts_count + 1,
        started_at = greatest(clock_timestamp(), t.queued_at),
        last_worker_id = _claim_tasks.worker_id
      where t.ctid = any(array(select found.ctid from found)) and t.status = 'queued'
      returning t.message_id, t.run_id, t.step_slug, t.task_index, t.attempts_count
  )
  select array_agg(c.message_id), array_agg(c.run_id), array_agg(c.step_slug), array_agg(c.task_index),
      array_agg(c.attempts_count)
    into v_msg_ids, v_run_ids, v_step_slugs, v_task_indexes, v_attempts
    from (select claimed.* from claimed order by claimed.message_id) c;

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

  -- One step's messages are leased for its timeout; a flow's for the longest of its steps.
  if hidden_for is null or _claim_tasks.step_slug is null then
    select array_agg(claimed.msg_id), array_agg(s.hidden)
      into v_shown_ids, v_shown_for
      from unnest(v_msg_ids, v_step_slugs) as claimed (msg_id, step_slug)
      cross join lateral (
        select least(coalesce(step.opt_timeout, flow.opt_timeout), 2147483645) + 2 as hidden
          from pgflow.steps step, pgflow.flows flow
          where step.flow_slug = _claim_tasks.flow_slug
            and step.step_slug = claimed.step_slug
            and flow.flow_slug = _claim_tasks.flow_slug
          offset 0
      ) s
      where s.hidden is distinct from hidden_for;
  end if;
  if v_shown_ids is not null then
    select count(*)
      into v_updated
      from pgflow._set_vt_batch(_claim_tasks.queue_name, v_shown_ids, v_shown_for, is_claim => true);
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

  for v_step in
    select step.step_slug, step.step_type, step.deps_count,
        coalesce(step.opt_max_attempts, flow.opt_max_attempts) as max_attempts,
        coalesce(step.opt_timeout, flow.opt_timeout) as timeout_seconds,
        array(
          select dep.dep_slug from pgflow.deps dep where dep.flow_slug = step.flow_slug and dep.step_slug = step.step_slug
        ) as dep_slugs
      from pgflow.steps step, pgflow.flows flow
      where step.flow_slug = _claim_tasks.flow_slug
        and step.step_slug = any(v_step_slugs)
        and flow.flow_slug = _claim_tasks.flow_slug
  loop
    if v_step.step_type = 'map' then
      return query
        select task.msg_id, batch.run_id, v_step.step_slug, task.task_index, task.attempt, v_step.max_attempts,
            v_step.timeout_seconds, shared.elements -> task.task_index, case when with_flow_input then r.input end
          from (
            select claimed.run_id, array_agg(claimed.msg_id) as msg_ids, array_agg(claimed.task_index) as task_indexes,
                array_agg(claimed.attempt) as attempts
              from unnest(v_run_ids, v_step_slugs, v_msg_ids, v_task_indexes, v_attempts)
                as claimed (run_id, step_slug, msg_id, task_index, attempt)
              where claimed.step_slug = v_step.step_slug
              group by claimed.run_id
          ) batch
          cross join lateral (
            select run.input from pgflow.runs run where run.run_id = batch.run_id offset 0
          ) r
          -- "offset 0" also keeps this one value a run; "#> '{}'" unpacks a stored array once, before it is indexed many
          -- times.
          cross join lateral (
            select case
                when v_step.deps_count = 0 then r.input #> '{}'
                else (
                  select state.output #> '{}'
                    from pgflow.step_states state
                    where state.run_id = batch.run_id and state.step_slug = v_step.dep_slugs[1]
                )
              end as elements
              offset 0
          ) shared
          cross join lateral unnest(batch.msg_ids, batch.task_indexes, batch.attempts)
            as task (msg_id, task_index, attempt);
    elsif v_step.deps_count = 0 then
      return query
        select claimed.msg_id, claimed.run_id, v_step.step_slug, claimed.task_index, claimed.attempt, v_step.max_attempts,
            v_step.timeout_seconds, '{}'::jsonb, r.input
          from unnest(v_run_ids, v_step_slugs, v_msg_ids, v_task_indexes, v_attempts)
            as claimed (run_id, step_slug, msg_id, task_index, attempt)
          cross join lateral (
            select run.input from pgflow.runs run where run.run_id = claimed.run_id offset 0
          ) r
          where claimed.step_slug = v_step.step_slug;
    else
      return query
        select claimed.msg_id, claimed.run_id, v_step.step_slug, claimed.task_index, claimed.attempt, v_step.max_attempts,
            v_step.timeout_seconds, parents.outputs,
            case when with_flow_input then (select run.input from pgflow.runs run where run.run_id = claimed.run_id) end
          from unnest(v_run_ids, v_step_slugs, v_msg_ids, v_task_indexes, v_attempts)
            as claimed (run_id, step_slug, msg_id, task_index, attempt)
          cross join lateral (
            select coalesce(jsonb_object_agg(state.step_slug, state.output), '{}') as outputs
              from pgflow.step_states state
              where state.run_id = claimed.run_id
                and state.step_slug = any(v_step.dep_slugs)
                and state.status = 'completed'
          ) parents
          where claimed.step_slug = v_step.step_slug;
    end if;
  end loop;
end;
$$;
