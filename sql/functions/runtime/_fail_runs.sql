-- pgflow._fail_runs: fail runs because of one step each.
-- Called by: _judge_conditions, _exhaust_task, _fail_type_violation, under the run's lock.
-- Locks: step_states, runs, step_tasks, queue rows.
-- Promises: the culprit (run_ids[i], step_slugs[i]) is failed with error_messages[i], other steps keep their status,
--   every unfinished task is cancelled and its message archived. run_first: the run's event comes before the step's.

create or replace function pgflow._fail_runs(
  run_ids uuid[],
  step_slugs text[],
  error_messages text[],
  run_first boolean default false
)
returns int
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
  v_done int;
begin
  update pgflow.step_states ss
    set status = 'failed',
      failed_at = greatest(clock_timestamp(), ss.started_at),
      error_message = culprit.error_message
    from unnest(run_ids, step_slugs, error_messages) as culprit (run_id, step_slug, error_message)
    where ss.run_id = culprit.run_id and ss.step_slug = culprit.step_slug;
  update pgflow.runs r
    set status = 'failed', failed_at = greatest(clock_timestamp(), r.started_at)
    where r.run_id = any(run_ids) and r.status = 'started';

  if pgflow._emits() then
    if run_first then
      v_done := pgflow._emit_runs(run_ids, error_messages);
    end if;
    v_done := pgflow._emit_steps(run_ids, step_slugs);
    if not run_first then
      v_done := pgflow._emit_runs(run_ids, error_messages);
    end if;
  end if;
  return pgflow._close_tasks('cancelled', run_ids);
end;
$$;
