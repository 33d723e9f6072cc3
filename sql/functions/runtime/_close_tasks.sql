-- pgflow._close_tasks: nobody needs these tasks any more; end the unfinished ones and archive their messages.
-- Called by: _fail_runs and cancel_run (cancelled, whole runs), _force_skip_steps and _exhaust_task (skipped, given steps),
--   each under the run's lock.    Locks: step_tasks, then queue rows.
-- Promises: the messages of every queue involved are archived. Without step_slugs all steps of the runs are meant; without
--   error_message a task keeps the one it has.

create or replace function pgflow._close_tasks(
  status text,
  run_ids uuid[],
  step_slugs text[] default null,
  error_message text default null
)
returns int
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
  v_queue_names text[];
  v_message_ids bigint[];
begin
  with closed as (
    update pgflow.step_tasks t
      set status = _close_tasks.status, error_message = coalesce(_close_tasks.error_message, t.error_message)
      where t.run_id = any(run_ids)
        and t.status in ('queued', 'started')
        and (
          step_slugs is null
          or (t.run_id, t.step_slug) in (
            select ended.run_id, ended.step_slug from unnest(run_ids, step_slugs) as ended (run_id, step_slug)
          )
        )
      returning t.queue_name, t.message_id
  )
  select array_agg(closed.queue_name), array_agg(closed.message_id)
    into v_queue_names, v_message_ids
    from closed;

  return pgflow._archive_messages(v_queue_names, v_message_ids);
end;
$$;
