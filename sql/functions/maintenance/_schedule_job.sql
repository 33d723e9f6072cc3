-- pgflow._schedule_job: (re)schedule one pg_cron job; what to say when there is no pg_cron.
-- Called by: setup_ensure_workers_cron, setup_requeue_stalled_tasks_cron.    Locks: pg_cron's.
-- Promises: an older job of the same name is replaced. Without pg_cron nothing is scheduled.

create or replace function pgflow._schedule_job(job_name text, cron_interval text, command text)
returns text
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  if to_regnamespace('cron') is null then
    return format('pg_cron is not installed: job %s was not scheduled, the supervisor does its work', job_name);
  end if;
  perform cron.unschedule(j.jobid) from cron.job j where j.jobname = job_name;
  perform cron.schedule(job_name, cron_interval, command);
  return format('Scheduled job %s every %s', job_name, cron_interval);
end;
$$;
