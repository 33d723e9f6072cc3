-- plpgsql_check finds nothing to complain about in any function of pgflow or of our pgmq, and all set search_path.
begin;
select * from no_plan();

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
      and not exists (select from unnest(p.proconfig) setting where setting = 'search_path=""')),
  null, 'every function sets an empty search_path'
);

select * from finish();
rollback;
