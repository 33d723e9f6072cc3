-- pgflow._force_skip_steps: skip these steps and everything that depends on them.
-- Called by: _judge_conditions, _exhaust_task, _cascade_force_skip_steps, under the run's lock.
-- Locks: step_states, step_tasks, queue rows.
-- Promises: a given step gets the reason, a dependent `dependency_skipped`; only created and started steps change, their
--   unfinished tasks are skipped and the messages archived on every queue. Each step is visited once, however many paths
--   lead to it. Returns the run of each step skipped, which the caller has still to count off.

create or replace function pgflow._force_skip_steps(run_ids uuid[], step_slugs text[], skip_reason text)
returns uuid[]
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
  with recursive doomed as (
    select r.run_id, r.flow_slug, given.step_slug, true as is_given
      from unnest(run_ids, step_slugs) as given (run_id, step_slug)
      join pgflow.runs r on r.run_id = given.run_id
    union
    select doomed.run_id, doomed.flow_slug, dep.step_slug, false
      from doomed
      join pgflow.deps dep on dep.flow_slug = doomed.flow_slug and dep.dep_slug = doomed.step_slug
  ),
  reasons as (
    select doomed.run_id, doomed.flow_slug, doomed.step_slug,
        case when bool_or(doomed.is_given) then _force_skip_steps.skip_reason else 'dependency_skipped' end as reason
      from doomed
      group by doomed.run_id, doomed.flow_slug, doomed.step_slug
  ),
  skipped as (
    update pgflow.step_states ss
      set status = 'skipped',
        skip_reason = reasons.reason,
        skipped_at = greatest(clock_timestamp(), ss.created_at),
        remaining_tasks = null
      from reasons
      join pgflow.steps s on s.flow_slug = reasons.flow_slug and s.step_slug = reasons.step_slug
      where ss.run_id = reasons.run_id
        and ss.step_slug = reasons.step_slug
        and ss.status in ('created', 'started')
      returning ss.run_id, ss.step_slug, s.step_index
  )
  select array_agg(skipped.run_id order by skipped.run_id, skipped.step_index),
      array_agg(skipped.step_slug order by skipped.run_id, skipped.step_index)
    into v_run_ids, v_step_slugs
    from skipped;

  if v_run_ids is null then
    return null;
  end if;
  v_done := pgflow._close_tasks('skipped', v_run_ids, v_step_slugs);
  if pgflow._emits() then
    v_done := pgflow._emit_steps(v_run_ids, v_step_slugs);
  end if;
  return v_run_ids;
end;
$$;
