-- pgflow.cascade_complete_taskless_steps: complete one run's ready steps without tasks, layer after layer.
-- Called by: operators and tests; the engine itself calls _cascade_steps for sets of steps.
-- Locks: the run, then step_states.
-- Promises: parents complete before their dependents; returns how many steps completed.

create or replace function pgflow.cascade_complete_taskless_steps(run_id uuid)
returns int
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
  perform from pgflow.runs r where r.run_id = cascade_complete_taskless_steps.run_id for no key update;
  select ready.run_ids, ready.step_slugs into v_run_ids, v_step_slugs
    from pgflow._ready_steps(cascade_complete_taskless_steps.run_id) ready;
  while v_run_ids is not null loop
    select taskless.ended_run_ids, taskless.ready_run_ids, taskless.ready_step_slugs
      into v_ended, v_run_ids, v_step_slugs
      from pgflow._complete_taskless_steps(v_run_ids, v_step_slugs) taskless;
    v_all_ended := v_all_ended || v_ended;
  end loop;
  perform pgflow._count_off(v_all_ended);
  return coalesce(cardinality(v_all_ended), 0);
end;
$$;
