-- pgflow.cascade_resolve_conditions: judge the conditions of one run's ready steps until nothing changes.
-- Called by: operators and tests; the engine itself calls _cascade_steps for sets of steps.
-- Locks: the run, step_states; tasks and queue rows when the run fails.
-- Promises: false when the run is failed now, true otherwise; a finished run is left alone.

create or replace function pgflow.cascade_resolve_conditions(run_id uuid)
returns boolean
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_run_ids uuid[];
  v_step_slugs text[];
  v_ended uuid[];
  v_all_ended uuid[];
begin
  perform from pgflow.runs r where r.run_id = cascade_resolve_conditions.run_id for no key update;
  select ready.run_ids, ready.step_slugs into v_run_ids, v_step_slugs
    from pgflow._ready_steps(cascade_resolve_conditions.run_id) ready;
  while v_run_ids is not null loop
    select judged.ended_run_ids, judged.ready_run_ids, judged.ready_step_slugs
      into v_ended, v_run_ids, v_step_slugs
      from pgflow._judge_conditions(v_run_ids, v_step_slugs) judged;
    v_all_ended := v_all_ended || v_ended;
  end loop;
  perform pgflow._count_off(v_all_ended);
  return not exists (
    select from pgflow.runs r where r.run_id = cascade_resolve_conditions.run_id and r.status = 'failed'
  );
end;
$$;
