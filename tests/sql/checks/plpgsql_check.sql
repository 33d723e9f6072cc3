-- plpgsql_check finds nothing to complain about in any function of pgflow or of our pgmq, and all set search_path.
begin;
select * from no_plan();

-- Stand-ins for what some functions use only where it exists: pg_cron, pg_net and Supabase's vault.
create schema cron;
create table cron.job (jobid bigint, jobname text);
create table cron.job_run_details (end_time timestamptz);
create function cron.schedule(job_name text, schedule text, command text) returns bigint language sql as 'select 1::bigint';
create function cron.unschedule(job_id bigint) returns boolean language sql as 'select true';
create schema vault;
create table vault.decrypted_secrets (name text, decrypted_secret text);
create schema net;
create function net.http_post(
  url text, body jsonb default '{}', params jsonb default '{}', headers jsonb default '{}', timeout_milliseconds int default 1
) returns bigint language sql as 'select 1::bigint';

select is(
  (select string_agg(found.line, E'\n') from plpgsql_check_function(p.oid, extra_warnings => false) found (line)),
  null,
  p.oid::regprocedure::text || ' is clean'
)
from pg_proc p
join pg_language l on l.oid = p.prolang and l.lanname = 'plpgsql'
where p.pronamespace in ('pgflow'::regnamespace, 'pgmq'::regnamespace) and p.prorettype <> 'trigger'::regtype
order by p.oid::regprocedure::text;

select is(
  (select string_agg(p.oid::regprocedure::text, ', ') from pg_proc p
    where p.pronamespace in ('pgflow'::regnamespace, 'pgmq'::regnamespace)
      and p.prokind = 'f'
      and not exists (select from unnest(p.proconfig) setting where setting = 'search_path=pg_catalog, pg_temp')),
  null, 'every function sets its search_path'
);

select * from finish();
rollback;
