-- The cron set-ups schedule each job once, and the log is cleaned; schema `cron` is a stand-in made here.
begin;
select plan(9);

create schema cron;
create table cron.job (jobid bigint generated always as identity, jobname text, schedule text, command text);
create table cron.job_run_details (runid bigint, end_time timestamptz);
create function cron.schedule(job_name text, schedule text, command text) returns bigint language sql
as $$ insert into cron.job (jobname, schedule, command) values (job_name, schedule, command) returning jobid $$;
create function cron.unschedule(job_id bigint) returns boolean language sql
as $$ delete from cron.job where jobid = job_id returning true $$;

select is(
  pgflow.setup_requeue_stalled_tasks_cron(), 'Scheduled job pgflow_requeue_stalled_tasks every 15 seconds', 'the text names job and interval'
);
select is(
  pgflow.setup_requeue_stalled_tasks_cron('1 minute'), 'Scheduled job pgflow_requeue_stalled_tasks every 1 minute', 'another interval'
);
select results_eq(
  'select jobname, schedule, command from cron.job',
  $$ values ('pgflow_requeue_stalled_tasks', '1 minute', 'select pgflow.requeue_stalled_tasks()') $$, 'replaces the job'
);
select matches(
  pgflow.setup_ensure_workers_cron(), 'pgflow_ensure_workers every 1 second.*pgflow_cleanup_logs every 0 \* \* \* \*', 'two jobs in one text'
);
select pgflow.setup_ensure_workers_cron('5 seconds') \g /dev/null
select results_eq(
  $$ select jobname, schedule, command from cron.job order by jobname collate "C" $$,
  $$ values ('pgflow_cleanup_logs', '0 * * * *', 'select pgflow.cleanup_ensure_workers_logs()'),
    ('pgflow_ensure_workers', '5 seconds', 'select pgflow.ensure_workers()'),
    ('pgflow_requeue_stalled_tasks', '1 minute', 'select pgflow.requeue_stalled_tasks()') $$, 'each job is there once'
);

insert into cron.job_run_details values (1, now() - interval '25 h'), (2, now() - interval '23 h'), (3, null);
select results_eq('select * from pgflow.cleanup_ensure_workers_logs()', $$ values (1::bigint) $$, 'a day is kept by default');
select results_eq('select * from pgflow.cleanup_ensure_workers_logs(1)', $$ values (1::bigint) $$, 'or as long as asked');
select is((select count(*) from cron.job_run_details), 1::bigint, 'what still runs is kept');
drop table cron.job_run_details;
select results_eq('select * from pgflow.cleanup_ensure_workers_logs()', $$ values (0::bigint) $$, 'an old pg_cron has no log');

select * from finish();
rollback;
