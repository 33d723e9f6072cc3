-- pgflow._release_dependents: count finished steps off their dependents, and off their run.
-- Called by: everything that completes or skips a step, under the run's lock.    Locks: step_states, runs.
-- Promises: called once for each step (run_ids[i], step_slugs[i]) that has just been completed or skipped. A map
--   dependent learns its size: the length of the array it waits for, 0 after a skip. A dependent that waits for nothing any
--   more is started, and told with the number of its tasks, which are still to be sent; unless a condition or a step without
--   tasks of its run has to be judged before anything of that run starts (cascades): then all such dependents are only
--   told, as ready. Tells which runs have no step left; those are not counted down. A cascade counts its steps off the run
--   itself, all at once, and starts nothing here: is_cascade is true then.

create or replace function pgflow._release_dependents(
  run_ids uuid[],
  step_slugs text[],
  is_cascade boolean default false,
  out started_flow_slugs text[],
  out started_run_ids uuid[],
  out started_step_slugs text[],
  out started_tasks int[],
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
  with ended as (
    select e.run_id, count(*) as steps from unnest(run_ids) as e (run_id) group by e.run_id
  ),
  run as materialized (
    select ended.run_id, r.ctid, ended.steps, r.flow_slug, r.status = 'started' as is_live, r.remaining_steps = ended.steps as finishes
      from ended
      cross join lateral (
        select runs.ctid, runs.flow_slug, runs.status, runs.remaining_steps
          from pgflow.runs
          where runs.run_id = ended.run_id
          offset 0
      ) r
  ),
  counted as (
    update pgflow.runs r
      set remaining_steps = r.remaining_steps - run.steps
      from run
      where not is_cascade and not run.finishes and r.ctid = run.ctid
  ),
  -- What a step's end means to its dependents is the flow's, and read once for each step.
  edge as materialized (
    select named.flow_slug, named.step_slug as parent_slug, parent.step_type as parent_type, dep.step_slug,
        child.step_index, child.step_type,
        child.required_input_pattern is not null or child.forbidden_input_pattern is not null as conditional
      from (
        select distinct run.flow_slug, ended.step_slug
          from unnest(run_ids, step_slugs) as ended (run_id, step_slug)
          join run on run.run_id = ended.run_id
      ) named
      cross join lateral (
        select step.step_type
          from pgflow.steps step
          where step.flow_slug = named.flow_slug and step.step_slug = named.step_slug
          offset 0
      ) parent
      cross join lateral (
        select d.step_slug from pgflow.deps d where d.flow_slug = named.flow_slug and d.dep_slug = named.step_slug offset 0
      ) dep
      cross join lateral (
        select step.step_index, step.step_type, step.required_input_pattern, step.forbidden_input_pattern
          from pgflow.steps step
          where step.flow_slug = named.flow_slug and step.step_slug = dep.step_slug
          offset 0
      ) child
  ),
  satisfied as (
    select run.run_id, edge.step_slug, run.is_live, edge.step_index, edge.conditional,
        count(*) as parents,
        -- Only a map's size is unknown before, and a map has one parent.
        min(case when edge.step_type = 'map' then (
          select case
              when state.status = 'skipped' then 0
              when edge.parent_type = 'map' then state.initial_tasks
              when jsonb_typeof(state.output) = 'array' then jsonb_array_length(state.output)
            end
            from pgflow.step_states state
            where state.run_id = ended.run_id and state.step_slug = ended.step_slug
        ) end) as size
      from unnest(run_ids, step_slugs) as ended (run_id, step_slug)
      join run on run.run_id = ended.run_id
      join edge on edge.flow_slug = run.flow_slug and edge.parent_slug = ended.step_slug
      group by run.run_id, edge.step_slug, run.is_live, edge.step_index, edge.conditional
  ),
  waiting as (
    select state.ctid, satisfied.run_id, satisfied.parents, satisfied.is_live, satisfied.step_index,
        coalesce(state.initial_tasks, satisfied.size) as tasks,
        state.remaining_deps = satisfied.parents as is_ready,
        state.remaining_deps = satisfied.parents
        and (satisfied.conditional or coalesce(state.initial_tasks, satisfied.size) = 0) as cascades
      from satisfied
      cross join lateral (
        select step_state.ctid, step_state.remaining_deps, step_state.initial_tasks
          from pgflow.step_states step_state
          where step_state.run_id = satisfied.run_id
            and step_state.step_slug = satisfied.step_slug
            and step_state.status = 'created'
          offset 0
      ) state
  ),
  judged as (
    select waiting.*,
        not is_cascade and waiting.is_live and waiting.is_ready and waiting.tasks > 0
        and not bool_or(waiting.cascades) over (partition by waiting.run_id) as starts
      from waiting
  ),
  released as (
    update pgflow.step_states ss
      set remaining_deps = ss.remaining_deps - judged.parents,
        initial_tasks = judged.tasks,
        status = case when judged.starts then 'started' else ss.status end,
        started_at = case when judged.starts then greatest(clock_timestamp(), ss.created_at) end,
        remaining_tasks = case when judged.starts then judged.tasks end
      from judged
      where ss.ctid = judged.ctid
      returning ss.flow_slug, ss.run_id, ss.step_slug, judged.step_index, judged.is_ready, judged.cascades, judged.starts,
        judged.tasks
  )
  select
      array_agg(told.flow_slug) filter (where told.starts),
      array_agg(told.run_id) filter (where told.starts),
      array_agg(told.step_slug) filter (where told.starts),
      array_agg(told.tasks) filter (where told.starts),
      array_agg(told.run_id) filter (where told.is_ready and not told.starts),
      array_agg(told.step_slug) filter (where told.is_ready and not told.starts),
      coalesce(bool_or(told.cascades), false),
      (select array_agg(run.run_id) from run where run.finishes and not is_cascade)
    into started_flow_slugs, started_run_ids, started_step_slugs, started_tasks, ready_run_ids, ready_step_slugs, cascades,
      finished_run_ids
    from (select released.* from released order by released.run_id, released.step_index) told;
end;
$$;
