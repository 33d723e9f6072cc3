-- pgflow._cascade_steps: from ready steps on, judge conditions and complete steps without tasks until neither is left.
-- Called by: start_flow, _advance_runs, under the run's lock.
-- Locks: step_states, runs; tasks and queue rows of a skip or a failure.
-- Promises: a step is judged before it may complete, and visited once: a round takes the steps that the last one made
--   ready, so a cascade costs what its steps cost, however long the chain. The runs count off at the end what was
--   skipped and completed. Tells all steps that were ready (those that are still `created` have tasks to start) and the
--   runs that have no step left.

create or replace function pgflow._cascade_steps(
  run_ids uuid[],
  step_slugs text[],
  out ready_run_ids uuid[],
  out ready_step_slugs text[],
  out finished_run_ids uuid[]
)
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
  v_run_ids uuid[] := run_ids;
  v_step_slugs text[] := step_slugs;
  v_judged_run_ids uuid[];
  v_judged_step_slugs text[];
  v_judged record;
  v_taskless record;
  v_ended uuid[];
begin
  while v_run_ids is not null loop
    v_judged_run_ids := null;
    v_judged_step_slugs := null;
    while v_run_ids is not null loop
      v_judged_run_ids := v_judged_run_ids || v_run_ids;
      v_judged_step_slugs := v_judged_step_slugs || v_step_slugs;
      v_judged := pgflow._judge_conditions(v_run_ids, v_step_slugs);
      v_ended := v_ended || v_judged.ended_run_ids;
      v_run_ids := v_judged.ready_run_ids;
      v_step_slugs := v_judged.ready_step_slugs;
    end loop;
    ready_run_ids := ready_run_ids || v_judged_run_ids;
    ready_step_slugs := ready_step_slugs || v_judged_step_slugs;

    v_taskless := pgflow._complete_taskless_steps(v_judged_run_ids, v_judged_step_slugs);
    v_ended := v_ended || v_taskless.ended_run_ids;
    v_run_ids := v_taskless.ready_run_ids;
    v_step_slugs := v_taskless.ready_step_slugs;
  end loop;

  finished_run_ids := pgflow._count_off(v_ended);
end;
$$;
