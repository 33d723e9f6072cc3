-- pgflow.cancel_run: end a run because somebody wants it to end.
-- Called by: operators, `pgflow run cancel`.    Locks: the run, step_tasks, queue rows.
-- Promises: the run is failed, its unfinished tasks are cancelled with the reason as their error, their messages archived on
--   every queue; steps keep their status, for none of them is to blame. run:failed is sent once. The run's row as it is
--   afterwards: a finished run unchanged, none for an unknown one.

create or replace function pgflow.cancel_run(run_id uuid, reason text default 'cancelled')
returns setof pgflow.runs
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
  v_run_ids uuid[] := array[cancel_run.run_id];
  v_done int;
begin
  update pgflow.runs r
    set status = 'failed', failed_at = greatest(clock_timestamp(), r.started_at)
    where r.run_id = cancel_run.run_id and r.status = 'started';
  if found then
    if pgflow._emits() then
      v_done := pgflow._emit_runs(v_run_ids, array[reason]);
    end if;
    v_done := pgflow._close_tasks('cancelled', v_run_ids, error_message => reason);
  end if;
  return query select r.* from pgflow.runs r where r.run_id = cancel_run.run_id;
end;
$$;
