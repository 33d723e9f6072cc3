-- pgflow._complete_taskless_steps: complete the ready steps of these runs that have no task: one layer of the graph.
-- Called by: _cascade_runs, cascade_complete_taskless_steps, under the run's lock.    Locks: step_states, runs.
-- Promises: a map completes with [], and its map dependents will have no tasks either. Returns the number completed.

create or replace function pgflow._complete_taskless_steps(run_ids uuid[])
returns int
language plpgsql
set search_path = ''
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
  v_run_ids uuid[];
  v_step_slugs text[];
begin
  with completed as (
    update pgflow.step_states ss
      set status = 'completed', started_at = clock.now, completed_at = clock.now, remaining_tasks = 0,
        output = case when s.step_type = 'map' then '[]'::jsonb end
      from pgflow.runs r, pgflow.steps s, (select clock_timestamp() as now) clock
      where r.run_id = any(run_ids)
        and r.status = 'started'
        and ss.run_id = r.run_id
        and ss.status = 'created'
        and ss.remaining_deps = 0
        and ss.initial_tasks = 0
        and s.flow_slug = ss.flow_slug
        and s.step_slug = ss.step_slug
      returning ss.run_id, ss.step_slug, s.step_index
  )
  select array_agg(completed.run_id order by completed.run_id, completed.step_index),
      array_agg(completed.step_slug order by completed.run_id, completed.step_index)
    into v_run_ids, v_step_slugs
    from completed;

  if v_run_ids is null then
    return 0;
  end if;
  if pgflow._emits() then
    perform pgflow._emit_steps(v_run_ids, v_step_slugs);
  end if;
  perform pgflow._release_dependents(v_run_ids, v_step_slugs);
  return cardinality(v_run_ids);
end;
$$;
