-- pgflow.cleanup_ensure_workers_logs: forget old entries of pg_cron's log.
-- Called by: the cron job pgflow_cleanup_logs.    Locks: the rows deleted.
-- Promises: returns how many were deleted; 0 without pg_cron.

create or replace function pgflow.cleanup_ensure_workers_logs(retention_hours int default 24)
returns table (cron_deleted bigint)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  if to_regclass('cron.job_run_details') is null then
    return query select 0::bigint;
    return;
  end if;
  return query
    with deleted as (
      delete from cron.job_run_details d
        where d.end_time < now() - make_interval(hours => retention_hours)
        returning 1
    )
    select count(*) from deleted;
end;
$$;
