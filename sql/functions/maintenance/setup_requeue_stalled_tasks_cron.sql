-- pgflow.setup_requeue_stalled_tasks_cron: schedule the recovery of stalled tasks.
-- Called by: operators of databases without our supervisor.    Locks: pg_cron's.
-- Promises: job pgflow_requeue_stalled_tasks exists once; without pg_cron a text says who does it.

create or replace function pgflow.setup_requeue_stalled_tasks_cron(cron_interval text default '15 seconds')
returns text
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return pgflow._schedule_job('pgflow_requeue_stalled_tasks', cron_interval, 'select pgflow.requeue_stalled_tasks()');
end;
$$;
