-- pgflow.start_flows: start one run for each input and send the tasks of every step that can begin, in one transaction.
-- Called by: clients with many runs to start; start_flow.
-- Locks: the flow's starts (shared; a deletion takes them exclusively), its own new rows.
-- Promises: the runs, their steps, tasks and messages appear together, and the steps are those that the flow had at one
--   moment; a run that has nothing to do is returned completed, one whose condition forbids it is returned failed. One row
--   for each input, in their order. run_ids[i] is the id of the run of inputs[i]; without run_ids each gets a time-ordered one.
-- Refuses: an unknown flow (23503), a run_id that exists (23505), no input (23502), run_ids that are not as many as the
--   inputs (22023), a root map without an array.

create or replace function pgflow.start_flows(flow_slug text, inputs jsonb[], run_ids uuid[] default null)
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
  v_is_held constant boolean := pg_advisory_xact_lock_shared(3, hashtext(lower(start_flows.flow_slug collate "C"))) is null;
  v_run_ids uuid[];
  v_steps int;
  v_has_root_map boolean;
  v_cascades boolean;
  v_offence text;
  v_all_slugs text[];
  v_all_types text[];
  v_all_deps int[];
  v_root_run_ids uuid[];
  v_root_slugs text[];
  v_root_tasks int[];
  v_queue_names text[];
  v_cascaded record;
  v_done int;
begin
  if run_ids is not null and (cardinality(run_ids) <> cardinality(inputs) or array_position(run_ids, null) is not null) then
    perform pgflow._refuse_argument('start_flows', 'run_ids', null, 'one id for each input');
  end if;

  -- Read once: a step that is added meanwhile is in the runs' count and among their states, or in neither.
  select
      count(*),
      coalesce(bool_or(s.deps_count = 0 and s.step_type = 'map'), false),
      coalesce(bool_or(
        s.deps_count = 0 and (s.required_input_pattern is not null or s.forbidden_input_pattern is not null)
      ), false),
      array_agg(s.step_slug order by s.step_index),
      array_agg(s.step_type order by s.step_index),
      array_agg(s.deps_count order by s.step_index)
    into v_steps, v_has_root_map, v_cascades, v_all_slugs, v_all_types, v_all_deps
    from pgflow.steps s
    where s.flow_slug = start_flows.flow_slug;

  -- In place of a foreign key, which would ask for each run (decision 0001).
  if v_steps = 0 and not exists (select from pgflow.flows f where f.flow_slug = start_flows.flow_slug) then
    raise exception using
      errcode = 'foreign_key_violation',
      schema = 'pgflow',
      table = 'runs',
      constraint = 'runs_flow_slug_fkey',
      message = format('Flow "%s" does not exist.', coalesce(start_flows.flow_slug, 'NULL')),
      detail = 'A run follows the steps of its flow, so the flow must have been compiled; its slug is spelled exactly as it was.',
      hint = 'Look it up in pgflow.flows, or compile it: pgflow up does, and pgflow.ensure_flow_compiled.';
  end if;

  if v_has_root_map then
    select coalesce(jsonb_typeof(i.input), 'null') into v_offence
      from unnest(inputs) as i (input)
      where jsonb_typeof(i.input) is distinct from 'array'
      limit 1;
    if v_offence is not null then
      raise exception using
        constraint = 'pgflow_root_map_input',
        message = format(
          'Flow "%s" starts with a map step, so its input must be an array (got %s).', start_flows.flow_slug, v_offence
        ),
        detail = 'A map step without dependencies runs one task for each element of the run''s input.',
        hint = 'Start the flow with a JSON array, for example [1, 2, 3].';
    end if;
    v_cascades := v_cascades or '[]'::jsonb = any(inputs);
  end if;

  -- Two statements, because only an insert without the column gets the column's default.
  if run_ids is null then
    with started as (
      insert into pgflow.runs as r (flow_slug, input, remaining_steps)
        select start_flows.flow_slug, i.input, v_steps
          from unnest(inputs) with ordinality as i (input, position)
          order by i.position
        returning r.run_id
    )
    select array_agg(started.run_id) into v_run_ids from started;
  else
    v_run_ids := run_ids;
    insert into pgflow.runs (run_id, flow_slug, input, remaining_steps)
      select i.run_id, start_flows.flow_slug, i.input, v_steps
        from unnest(run_ids, inputs) as i (run_id, input);
  end if;

  -- Roots that nothing can keep from starting are born started.
  insert into pgflow.step_states (
      flow_slug, run_id, step_slug, remaining_deps, initial_tasks, status, started_at, remaining_tasks
    )
    select start_flows.flow_slug, i.run_id, s.slug, s.deps, s.tasks,
        case when s.starts then 'started' else 'created' end,
        case when s.starts then greatest(clock_timestamp(), now()) end,
        case when s.starts then s.tasks end
      from unnest(v_run_ids, inputs) as i (run_id, input)
      cross join lateral (
        select step.slug, step.deps,
            case when step.type = 'single' then 1 when step.deps = 0 then jsonb_array_length(i.input) end as tasks,
            step.deps = 0 and not v_cascades as starts
          from unnest(v_all_slugs, v_all_types, v_all_deps) as step (slug, type, deps)
      ) s;

  if pgflow._emits() then
    v_done := pgflow._emit_runs(v_run_ids);
  end if;

  select array_agg(root.run_id), array_agg(root.slug), array_agg(root.tasks)
    into v_root_run_ids, v_root_slugs, v_root_tasks
    from (
      select i.run_id, root.slug, case when root.type = 'single' then 1 else jsonb_array_length(i.input) end as tasks
        from unnest(v_run_ids, inputs) with ordinality as i (run_id, input, position)
        cross join unnest(v_all_slugs, v_all_types, v_all_deps) with ordinality as root (slug, type, deps, position)
        where root.deps = 0
        order by i.position, root.position
    ) root;
  if v_cascades then
    v_cascaded := pgflow._cascade_steps(v_root_run_ids, v_root_slugs);
    v_queue_names := pgflow._start_ready_steps(v_cascaded.ready_run_ids, v_cascaded.ready_step_slugs);
  elsif v_root_run_ids is not null then
    v_queue_names := pgflow._send_tasks(
      array_fill(start_flows.flow_slug, array[cardinality(v_root_run_ids)]), v_root_run_ids, v_root_slugs, v_root_tasks
    );
  end if;
  if v_queue_names <> '{}' and current_setting('pgflow.wake', true) is distinct from 'off' then
    v_done := pgflow._wake(v_queue_names);
  end if;
  if v_cascades or v_steps = 0 then
    v_done := pgflow._complete_runs(v_run_ids);
  end if;

  return query
    select r.*
      from unnest(v_run_ids) with ordinality as started (run_id, position)
      cross join lateral (select run.* from pgflow.runs run where run.run_id = started.run_id offset 0) r
      order by started.position;
end;
$$;
