-- pgflow._send_tasks: send the tasks of steps that have just started.
-- Called by: whatever starts steps, under the run's lock, or before anybody else can see the run.    Locks: none.
-- Promises: for each step (run_ids[i], step_slugs[i]) of flow_slugs[i] so many tasks and messages as tasks[i] says, on the step's
--   route, in the order of their index; one batch for each queue and delay. Returns the queues that got work which can be
--   done now.
-- Refuses: a step whose queue was dropped (queue_missing, 42P01).

create or replace function pgflow._send_tasks(flow_slugs text[], run_ids uuid[], step_slugs text[], tasks int[])
returns text[]
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
  v_queue_names text[];
  v_done int;
begin
  with route as materialized (
    select named.flow_slug, named.step_slug, step.step_index, step.queue_name, coalesce(step.opt_start_delay, 0) as delay
      from (
        select distinct started.flow_slug, started.step_slug
          from unnest(flow_slugs, step_slugs) as started (flow_slug, step_slug)
      ) named
      join pgflow.steps step on step.flow_slug = named.flow_slug and step.step_slug = named.step_slug
  ),
  batches as (
    -- The arrays of a batch come in the order of the rows: sorted once, not once for each array.
    select
        task.queue_name, task.delay,
        array_agg(task.flow_slug) as flow_slugs,
        array_agg(task.run_id) as run_ids,
        array_agg(task.step_slug) as step_slugs,
        array_agg(task.index) as task_indexes,
        array_agg(
          jsonb_build_object(
            'flow_slug', task.flow_slug, 'run_id', task.run_id, 'step_slug', task.step_slug, 'task_index', task.index
          )
        ) as messages
      from (
        select started.flow_slug, started.run_id, started.step_slug, s.queue_name, s.delay, i.index
          from unnest(flow_slugs, run_ids, step_slugs, tasks) as started (flow_slug, run_id, step_slug, tasks)
          join route s on s.flow_slug = started.flow_slug and s.step_slug = started.step_slug
          cross join lateral generate_series(0, started.tasks - 1) as i (index)
          order by s.queue_name, s.delay, started.run_id, s.step_index, i.index
      ) task
      group by task.queue_name, task.delay
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
  select coalesce(array_agg(batches.queue_name) filter (where batches.delay = 0), '{}') into v_queue_names from batches;

  if pgflow._emits() then
    v_done := pgflow._emit_steps(run_ids, step_slugs);
  end if;
  return v_queue_names;
end;
$$;
