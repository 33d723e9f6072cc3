-- pgflow._judge_conditions: judge the conditions of these ready steps, once, and act on the unmet ones.
-- Called by: _cascade_steps, under the run's lock.
-- Locks: step_states; runs, tasks and queue rows when a run fails.
-- Promises: an unmet `fail` fails its run, the lowest step_index first, and then no skip of that run happens. Otherwise
--   every unmet `skip` is skipped, then every unmet `skip-cascade` with all its dependents. Tells the run of each step
--   skipped, which is still to be counted off, and the steps that became ready by it.

create or replace function pgflow._judge_conditions(
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
  v_fail_runs uuid[];
  v_fail_slugs text[];
  v_skip_runs uuid[];
  v_skip_slugs text[];
  v_cascade_runs uuid[];
  v_cascade_slugs text[];
  v_released record;
  v_done int;
begin
  with judged as materialized (
    select ready.run_id, ready.step_slug, s.step_index, s.when_unmet,
        s.required_input_pattern, s.forbidden_input_pattern,
        case
          when s.deps_count = 0 then r.input
          else (
            select coalesce(jsonb_object_agg(dep.dep_slug, parent.output), '{}')
              from pgflow.deps dep
              cross join lateral (
                select state.output
                  from pgflow.step_states state
                  where state.run_id = ready.run_id and state.step_slug = dep.dep_slug and state.status = 'completed'
                  offset 0
              ) parent
              where dep.flow_slug = r.flow_slug and dep.step_slug = ready.step_slug
          )
        end as value
      from unnest(run_ids, step_slugs) as ready (run_id, step_slug)
      cross join lateral (
        select run.flow_slug, run.input
          from pgflow.runs run
          where run.run_id = ready.run_id and run.status = 'started'
          offset 0
      ) r
      cross join lateral (
        select step.step_index, step.deps_count, step.when_unmet, step.required_input_pattern, step.forbidden_input_pattern
          from pgflow.steps step
          where step.flow_slug = r.flow_slug
            and step.step_slug = ready.step_slug
            and (step.required_input_pattern is not null or step.forbidden_input_pattern is not null)
          offset 0
      ) s
      cross join lateral (
        select
          from pgflow.step_states state
          where state.run_id = ready.run_id and state.step_slug = ready.step_slug and state.status = 'created'
          offset 0
      ) ss
  ),
  unmet as (
    select judged.run_id, judged.step_slug, judged.step_index, judged.when_unmet,
        min(judged.step_index) filter (where judged.when_unmet = 'fail') over (partition by judged.run_id) as fails_at
      from judged
      where not (
        (judged.required_input_pattern is null or judged.value @> judged.required_input_pattern)
        and (judged.forbidden_input_pattern is null or not judged.value @> judged.forbidden_input_pattern)
      )
  )
  select
      array_agg(unmet.run_id order by unmet.run_id) filter (where unmet.step_index = unmet.fails_at),
      array_agg(unmet.step_slug order by unmet.run_id) filter (where unmet.step_index = unmet.fails_at),
      array_agg(unmet.run_id order by unmet.run_id, unmet.step_index)
        filter (where unmet.fails_at is null and unmet.when_unmet = 'skip'),
      array_agg(unmet.step_slug order by unmet.run_id, unmet.step_index)
        filter (where unmet.fails_at is null and unmet.when_unmet = 'skip'),
      array_agg(unmet.run_id order by unmet.run_id, unmet.step_index)
        filter (where unmet.fails_at is null and unmet.when_unmet = 'skip-cascade'),
      array_agg(unmet.step_slug order by unmet.run_id, unmet.step_index)
        filter (where unmet.fails_at is null and unmet.when_unmet = 'skip-cascade')
    into v_fail_runs, v_fail_slugs, v_skip_runs, v_skip_slugs, v_cascade_runs, v_cascade_slugs
    from unmet;

  if v_fail_runs is not null then
    v_done := pgflow._fail_runs(
      v_fail_runs, v_fail_slugs, array_fill('Condition not met'::text, array[cardinality(v_fail_runs)])
    );
  end if;

  if v_skip_runs is not null then
    update pgflow.step_states ss
      set status = 'skipped', skip_reason = 'condition_unmet', skipped_at = greatest(clock_timestamp(), ss.created_at)
      from unnest(v_skip_runs, v_skip_slugs) as unmet (run_id, step_slug)
      cross join lateral (
        select state.ctid
          from pgflow.step_states state
          where state.run_id = unmet.run_id and state.step_slug = unmet.step_slug
          offset 0
      ) found
      where ss.ctid = found.ctid;
    if pgflow._emits() then
      v_done := pgflow._emit_steps(v_skip_runs, v_skip_slugs);
    end if;
    v_released := pgflow._release_dependents(v_skip_runs, v_skip_slugs, is_cascade => true);
    ready_run_ids := v_released.ready_run_ids;
    ready_step_slugs := v_released.ready_step_slugs;
    ended_run_ids := v_skip_runs;
  end if;

  if v_cascade_runs is not null then
    ended_run_ids := ended_run_ids || pgflow._force_skip_steps(v_cascade_runs, v_cascade_slugs, 'condition_unmet');
  end if;
end;
$$;
