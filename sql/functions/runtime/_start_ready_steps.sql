-- pgflow._start_ready_steps: start these steps and send their tasks.
-- Called by: start_flow, _advance_runs, start_ready_steps, each under the run's lock.    Locks: step_states.
-- Promises: a step's tasks and messages appear with its start, on the step's route, in the order of their index; one
--   batch for each queue and delay. A step that is not `created`, waits for others, has no task, or whose run is over is
--   left out. Returns the number of steps started.
-- Refuses: a step whose queue was dropped (queue_missing, 42P01).

create or replace function pgflow._start_ready_steps(run_ids uuid[], step_slugs text[])
returns int
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
  v_run_ids uuid[];
  v_step_slugs text[];
  v_done int;
begin
  with startable as (
    select ss.ctid, s.step_index, s.queue_name, s.delay
      from unnest(run_ids, step_slugs) as ready (run_id, step_slug)
      cross join lateral (
        select run.flow_slug from pgflow.runs run where run.run_id = ready.run_id and run.status = 'started' offset 0
      ) r
      cross join lateral (
        select state.ctid
          from pgflow.step_states state
          where state.run_id = ready.run_id
            and state.step_slug = ready.step_slug
            and state.status = 'created'
            and state.remaining_deps = 0
            and state.initial_tasks > 0
          offset 0
      ) ss
      cross join lateral (
        select step.step_index, step.queue_name, coalesce(step.opt_start_delay, 0) as delay
          from pgflow.steps step
          where step.flow_slug = r.flow_slug and step.step_slug = ready.step_slug
          offset 0
      ) s
  ),
  started as (
    update pgflow.step_states ss
      set status = 'started', started_at = greatest(clock_timestamp(), ss.created_at), remaining_tasks = ss.initial_tasks
      from startable
      where ss.ctid = startable.ctid
      returning ss.flow_slug, ss.run_id, ss.step_slug, ss.initial_tasks,
        startable.step_index, startable.queue_name, startable.delay
  ),
  batches as (
    select
        started.queue_name, started.delay,
        array_agg(started.flow_slug order by started.run_id, started.step_index, task.index) as flow_slugs,
        array_agg(started.run_id order by started.run_id, started.step_index, task.index) as run_ids,
        array_agg(started.step_slug order by started.run_id, started.step_index, task.index) as step_slugs,
        array_agg(task.index order by started.run_id, started.step_index, task.index) as task_indexes,
        array_agg(
          jsonb_build_object(
            'flow_slug', started.flow_slug, 'run_id', started.run_id,
            'step_slug', started.step_slug, 'task_index', task.index
          )
          order by started.run_id, started.step_index, task.index
        ) as messages
      from started
      cross join lateral generate_series(0, started.initial_tasks - 1) as task (index)
      group by started.queue_name, started.delay
  ),
  sent as (
    insert into pgflow.step_tasks (flow_slug, run_id, step_slug, task_index, queue_name, message_id)
      select task.flow_slug, task.run_id, task.step_slug, task.task_index, batches.queue_name, task.message_id
        from batches
        cross join lateral rows from (
          unnest(batches.flow_slugs, batches.run_ids, batches.step_slugs, batches.task_indexes),
          pgmq.send_batch(
            pgflow._existing_queue(batches.queue_name), batches.messages, null::jsonb[],
            clock_timestamp() + make_interval(secs => batches.delay)
          )
        ) as task (flow_slug, run_id, step_slug, task_index, message_id)
  )
  select array_agg(started.run_id order by started.run_id, started.step_index),
      array_agg(started.step_slug order by started.run_id, started.step_index)
    into v_run_ids, v_step_slugs
    from started;

  if v_run_ids is null then
    return 0;
  end if;
  if pgflow._emits() then
    v_done := pgflow._emit_steps(v_run_ids, v_step_slugs);
  end if;
  return cardinality(v_run_ids);
end;
$$;
