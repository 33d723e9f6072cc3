-- pgflow.setup_ensure_workers_cron: schedule the calls to silent HTTP workers and the clean-up of their log.
-- Called by: operators.    Locks: pg_cron's.
-- Promises: jobs pgflow_ensure_workers and pgflow_cleanup_logs (hourly) exist once; without pg_cron a text says who does it.

create or replace function pgflow.setup_ensure_workers_cron(cron_interval text default '1 second')
returns text
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return pgflow._schedule_job('pgflow_ensure_workers', cron_interval, 'select pgflow.ensure_workers()')
    || '; ' || pgflow._schedule_job('pgflow_cleanup_logs', '0 * * * *', 'select pgflow.cleanup_ensure_workers_logs()');
end;
$$;
