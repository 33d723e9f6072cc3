-- pgflow._judge_conditions: judge the condition of every ready step of these runs, once, and act on the unmet ones.
-- Called by: _cascade_runs, cascade_resolve_conditions, under the run's lock.
-- Locks: step_states, runs; tasks and queue rows when a run fails.
-- Promises: an unmet `fail` fails its run, the lowest step_index first, and then no skip of that run happens. Otherwise
--   every unmet `skip` is skipped, then every unmet `skip-cascade` with all its dependents. Returns whether anything
--   changed: then dependents may have become ready.

create or replace function pgflow._judge_conditions(run_ids uuid[])
returns boolean
language plpgsql
set search_path = ''
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
  v_done int;
begin
  with judged as materialized (
    select ss.run_id, ss.step_slug, s.step_index, s.when_unmet,
        s.required_input_pattern, s.forbidden_input_pattern,
        case
          when s.deps_count = 0 then r.input
          else (
            select coalesce(jsonb_object_agg(dep.dep_slug, parent.output), '{}')
              from pgflow.deps dep
              join pgflow.step_states parent on parent.run_id = ss.run_id and parent.step_slug = dep.dep_slug
              where dep.flow_slug = ss.flow_slug and dep.step_slug = ss.step_slug and parent.status = 'completed'
          )
        end as value
      from pgflow.runs r
      join pgflow.step_states ss on ss.run_id = r.run_id
      join pgflow.steps s on s.flow_slug = ss.flow_slug and s.step_slug = ss.step_slug
      where r.run_id = any(run_ids)
        and r.status = 'started'
        and ss.status = 'created'
        and ss.remaining_deps = 0
        and (s.required_input_pattern is not null or s.forbidden_input_pattern is not null)
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
      set status = 'skipped', skip_reason = 'condition_unmet', skipped_at = clock_timestamp()
      from unnest(v_skip_runs, v_skip_slugs) as unmet (run_id, step_slug)
      where ss.run_id = unmet.run_id and ss.step_slug = unmet.step_slug;
    if pgflow._emits() then
      perform pgflow._emit_steps(v_skip_runs, v_skip_slugs);
    end if;
    perform pgflow._release_dependents(v_skip_runs, v_skip_slugs);
  end if;

  if v_cascade_runs is not null then
    v_done := pgflow._force_skip_steps(v_cascade_runs, v_cascade_slugs, 'condition_unmet');
  end if;

  return v_skip_runs is not null or v_cascade_runs is not null;
end;
$$;
