-- pgflow._release_dependents: count finished steps off their dependents, and off their run.
-- Called by: everything that completes or skips a step, under the run's lock.    Locks: step_states, runs.
-- Promises: called once for each step (run_ids[i], step_slugs[i]) that has just been completed or skipped. A map
--   dependent learns its size: the length of the array it waits for, 0 after a skip. Tells which dependents wait for
--   nothing any more, in the order of their definition; whether one of those has a condition or no task (cascades); which
--   runs have no step left. A cascade counts its steps off the run itself, all at once: count_off is false then.

create or replace function pgflow._release_dependents(
  run_ids uuid[],
  step_slugs text[],
  count_off boolean default true,
  out ready_run_ids uuid[],
  out ready_step_slugs text[],
  out cascades boolean,
  out finished_run_ids uuid[]
)
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
begin
  with counted as (
    update pgflow.runs r
      set remaining_steps = r.remaining_steps - ended.steps
      from (select e.run_id, count(*) as steps from unnest(run_ids) as e (run_id) group by e.run_id) ended
      where count_off and r.run_id = any(run_ids) and r.run_id = ended.run_id
      returning r.run_id, r.remaining_steps
  ),
  satisfied as (
    select ended.run_id, dep.step_slug, min(child.step_index) as step_index,
        count(*) as parents,
        -- Only a map's size is unknown before, and a map has one parent.
        min(case
          when ss.status = 'skipped' then 0
          when parent.step_type = 'map' then ss.initial_tasks
          when jsonb_typeof(ss.output) = 'array' then jsonb_array_length(ss.output)
        end) filter (where child.step_type = 'map') as size,
        bool_or(child.required_input_pattern is not null or child.forbidden_input_pattern is not null) as conditional
      from unnest(run_ids, step_slugs) as ended (run_id, step_slug)
      cross join lateral (
        select state.flow_slug, state.status, state.output, state.initial_tasks
          from pgflow.step_states state
          where state.run_id = ended.run_id and state.step_slug = ended.step_slug
          offset 0
      ) ss
      cross join lateral (
        select step.step_type
          from pgflow.steps step
          where step.flow_slug = ss.flow_slug and step.step_slug = ended.step_slug
          offset 0
      ) parent
      cross join lateral (
        select edge.step_slug
          from pgflow.deps edge
          where edge.flow_slug = ss.flow_slug and edge.dep_slug = ended.step_slug
          offset 0
      ) dep
      cross join lateral (
        select step.step_index, step.step_type, step.required_input_pattern, step.forbidden_input_pattern
          from pgflow.steps step
          where step.flow_slug = ss.flow_slug and step.step_slug = dep.step_slug
          offset 0
      ) child
      group by ended.run_id, dep.step_slug
  ),
  waiting as (
    select state.ctid, satisfied.parents, satisfied.size, satisfied.conditional, satisfied.step_index
      from satisfied
      cross join lateral (
        select step_state.ctid
          from pgflow.step_states step_state
          where step_state.run_id = satisfied.run_id
            and step_state.step_slug = satisfied.step_slug
            and step_state.status = 'created'
          offset 0
      ) state
  ),
  released as (
    update pgflow.step_states ss
      set remaining_deps = ss.remaining_deps - waiting.parents,
        initial_tasks = coalesce(ss.initial_tasks, waiting.size)
      from waiting
      where ss.ctid = waiting.ctid
      returning ss.run_id, ss.step_slug, waiting.step_index, ss.remaining_deps = 0 as is_ready,
        waiting.conditional or ss.initial_tasks = 0 as cascades
  )
  select
      array_agg(released.run_id order by released.run_id, released.step_index) filter (where released.is_ready),
      array_agg(released.step_slug order by released.run_id, released.step_index) filter (where released.is_ready),
      coalesce(bool_or(released.is_ready and released.cascades), false),
      (select array_agg(counted.run_id) from counted where counted.remaining_steps = 0)
    into ready_run_ids, ready_step_slugs, cascades, finished_run_ids
    from released;
end;
$$;
