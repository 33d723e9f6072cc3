-- pgflow._cascade_force_skip_steps: skip one step and everything that depends on it.
-- Called by: operators and tests; the engine itself calls _force_skip_steps for sets.
-- Locks: the run, step_states, step_tasks, queue rows.
-- Promises: asked again, it changes nothing and returns 0.
-- Refuses: an unknown run.

create or replace function pgflow._cascade_force_skip_steps(run_id uuid, step_slug text, skip_reason text)
returns int
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_skipped uuid[];
begin
  perform from pgflow.runs r where r.run_id = _cascade_force_skip_steps.run_id for no key update;
  if not found then
    raise exception using
      constraint = 'pgflow_unknown_run',
      message = format('Run %s does not exist.', _cascade_force_skip_steps.run_id),
      detail = format('Step "%s" of it was to be skipped.', _cascade_force_skip_steps.step_slug),
      hint = 'Look the run up in pgflow.runs.';
  end if;
  v_skipped := pgflow._force_skip_steps(
    array[_cascade_force_skip_steps.run_id],
    array[_cascade_force_skip_steps.step_slug],
    _cascade_force_skip_steps.skip_reason
  );
  perform pgflow._count_off(v_skipped);
  return coalesce(cardinality(v_skipped), 0);
end;
$$;
