-- pgflow._complete_taskless_steps: complete those of these ready steps that have no tasks: one layer of the graph.
-- Called by: _cascade_steps, under the run's lock.    Locks: step_states.
-- Promises: a map completes with `[]`, and its dependents are told. Tells the run of each step completed, which is still to
--   be counted off, and the steps that became ready by it.

create or replace function pgflow._complete_taskless_steps(
  run_ids uuid[],
  step_slugs text[],
  out ended_run_ids uuid[],
  out ready_run_ids uuid[],
  out ready_step_slugs text[]
)
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
  v_step_slugs text[];
  v_released record;
  v_done int;
begin
  with taskless as (
    select ss.ctid, s.step_type, s.step_index, clock.now
      from (select clock_timestamp() as now) clock
      cross join unnest(run_ids, step_slugs) as ready (run_id, step_slug)
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
            and state.initial_tasks = 0
          offset 0
      ) ss
      cross join lateral (
        select step.step_type, step.step_index
          from pgflow.steps step
          where step.flow_slug = r.flow_slug and step.step_slug = ready.step_slug
          offset 0
      ) s
  ),
  completed as (
    update pgflow.step_states ss
      set status = 'completed', started_at = greatest(taskless.now, ss.created_at),
        completed_at = greatest(taskless.now, ss.created_at), remaining_tasks = 0,
        output = case when taskless.step_type = 'map' then '[]'::jsonb end
      from taskless
      where ss.ctid = taskless.ctid
      returning ss.run_id, ss.step_slug, taskless.step_index
  )
  select array_agg(completed.run_id order by completed.run_id, completed.step_index),
      array_agg(completed.step_slug order by completed.run_id, completed.step_index)
    into ended_run_ids, v_step_slugs
    from completed;

  if ended_run_ids is null then
    return;
  end if;
  if pgflow._emits() then
    v_done := pgflow._emit_steps(ended_run_ids, v_step_slugs);
  end if;
  v_released := pgflow._release_dependents(ended_run_ids, v_step_slugs, is_cascade => true);
  ready_run_ids := v_released.ready_run_ids;
  ready_step_slugs := v_released.ready_step_slugs;
end;
$$;
