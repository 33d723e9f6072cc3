-- pgflow.start_flow: start one run and send the tasks of every step that can begin.
-- Called by: clients, `pgflow run start`.
-- Locks: the flow's starts (shared; a deletion takes them exclusively), the flow's row (shared), its own new rows.
-- Promises: the run, its steps, tasks and messages appear together, and the steps are those that the flow had at one moment;
--   a run that has nothing to do is returned completed, one whose condition forbids it is returned failed. Without a
--   run_id it gets a time-ordered one.
-- Refuses: an unknown flow (23503), a run_id that exists (23505), no input (23502), a root map without an array.

create or replace function pgflow.start_flow(flow_slug text, input jsonb, run_id uuid default null)
returns setof pgflow.runs
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
  -- Before anything is read, so that a flow which is being recompiled is seen as it will be. An initial value starts no
  -- statement.
  v_is_held constant boolean := pg_advisory_xact_lock_shared(3, hashtext(lower(start_flow.flow_slug collate "C"))) is null;
  v_run_id uuid := start_flow.run_id;
  v_steps int;
  v_has_root_map boolean;
  v_has_root_condition boolean;
  v_elements int := case when jsonb_typeof(input) = 'array' then jsonb_array_length(input) end;
  v_run_ids uuid[];
  v_step_slugs text[];
  v_all_slugs text[];
  v_all_deps int[];
  v_all_tasks int[];
  v_cascaded record;
  v_started int := 0;
  v_done int;
begin
  -- Read once: a step that is added meanwhile is in the run's count and among its states, or in neither.
  select
      count(*),
      coalesce(bool_or(s.deps_count = 0 and s.step_type = 'map'), false),
      coalesce(bool_or(
        s.deps_count = 0 and (s.required_input_pattern is not null or s.forbidden_input_pattern is not null)
      ), false),
      array_agg(s.step_slug order by s.step_index) filter (where s.deps_count = 0),
      array_agg(s.step_slug order by s.step_index),
      array_agg(s.deps_count order by s.step_index),
      array_agg(case when s.step_type = 'single' then 1 when s.deps_count = 0 then v_elements end order by s.step_index)
    into v_steps, v_has_root_map, v_has_root_condition, v_step_slugs, v_all_slugs, v_all_deps, v_all_tasks
    from pgflow.steps s
    where s.flow_slug = start_flow.flow_slug;

  if v_has_root_map and v_elements is null then
    raise exception using
      constraint = 'pgflow_root_map_input',
      message = format(
        'Flow "%s" starts with a map step, so its input must be an array (got %s).',
        start_flow.flow_slug, coalesce(jsonb_typeof(input), 'null')
      ),
      detail = 'A map step without dependencies runs one task for each element of the run''s input.',
      hint = 'Start the flow with a JSON array, for example [1, 2, 3].';
  end if;

  -- Two statements, because only an insert without the column gets the column's default.
  if v_run_id is null then
    insert into pgflow.runs as r (flow_slug, input, remaining_steps)
      values (start_flow.flow_slug, start_flow.input, v_steps)
      returning r.run_id into v_run_id;
  else
    insert into pgflow.runs (run_id, flow_slug, input, remaining_steps)
      values (v_run_id, start_flow.flow_slug, start_flow.input, v_steps);
  end if;

  insert into pgflow.step_states (flow_slug, run_id, step_slug, remaining_deps, initial_tasks)
    select start_flow.flow_slug, v_run_id, s.step_slug, s.remaining_deps, s.initial_tasks
      from unnest(v_all_slugs, v_all_deps, v_all_tasks) as s (step_slug, remaining_deps, initial_tasks);

  if pgflow._emits() then
    v_done := pgflow._emit_runs(array[v_run_id]);
  end if;

  v_run_ids := array_fill(v_run_id, array[coalesce(cardinality(v_step_slugs), 0)]);
  if v_has_root_condition or (v_has_root_map and v_elements = 0) then
    v_cascaded := pgflow._cascade_steps(v_run_ids, v_step_slugs);
    v_run_ids := v_cascaded.ready_run_ids;
    v_step_slugs := v_cascaded.ready_step_slugs;
  end if;
  if v_step_slugs is not null then
    v_started := pgflow._start_ready_steps(v_run_ids, v_step_slugs);
    if v_started > 0 and current_setting('pgflow.wake', true) is distinct from 'off' then
      v_done := pgflow._wake(start_flow.flow_slug, v_run_id);
    end if;
  end if;
  if v_started = 0 then
    v_done := pgflow._complete_runs(array[v_run_id]);
  end if;

  return query select r.* from pgflow.runs r where r.run_id = v_run_id;
end;
$$;
