-- pgflow._start_ready_steps: start these steps and send their tasks.
-- Called by: start_flows, _advance_runs, start_ready_steps, each under the run's lock.    Locks: step_states.
-- Promises: a step's tasks and messages appear with its start, as _send_tasks says. A step that is not `created`, waits for
--   others, has no task, or whose run is over is left out. Returns the queues that got work, NULL when no step started.
-- Refuses: a step whose queue was dropped (queue_missing, 42P01).

create or replace function pgflow._start_ready_steps(run_ids uuid[], step_slugs text[])
returns text[]
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
  v_flow_slugs text[];
  v_run_ids uuid[];
  v_step_slugs text[];
  v_tasks int[];
begin
  with startable as (
    select ss.ctid, s.step_index
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
        select step.step_index
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
      returning ss.flow_slug, ss.run_id, ss.step_slug, ss.initial_tasks, startable.step_index
  )
  select array_agg(ordered.flow_slug), array_agg(ordered.run_id), array_agg(ordered.step_slug), array_agg(ordered.initial_tasks)
    into v_flow_slugs, v_run_ids, v_step_slugs, v_tasks
    from (select started.* from started order by started.run_id, started.step_index) ordered;

  return case when v_run_ids is not null then pgflow._send_tasks(v_flow_slugs, v_run_ids, v_step_slugs, v_tasks) end;
end;
$$;
