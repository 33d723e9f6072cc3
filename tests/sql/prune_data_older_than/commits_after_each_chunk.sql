-- prune_data removes in chunks, each its own transaction, so that a database at work never waits long; and it looks runs and
-- archived messages up by index.
\ir ../support.psql
\ir ../../../sql/operator/prune_data_older_than.sql
select plan(9);
select pgflow.ensure_flow_compiled('old', shape('a'), 'step') ->> 'status';
insert into pgflow.runs (flow_slug, input, status, started_at, completed_at)
  select 'old', '1', 'completed', now() - interval '9 days', now() - interval '8 days' from generate_series(1, 25);
insert into pgmq.a_old__a (msg_id, vt, archived_at) select n, now(), now() - interval '8 days' from generate_series(1, 25) n;

select pgflow.configure_events('{table}');
insert into pgflow.event_log (at, run_id, event, payload)
  select now() - make_interval(days => 30 - n), gen_random_uuid(), n, '{}' from generate_series(1, 30) n;

create table tap.removed (what text, transaction xid8);
create function tap.note() returns trigger language plpgsql as $$
begin
  insert into tap.removed values (tg_argv[0], pg_current_xact_id());
  return old;
end $$;
create trigger note before delete on pgflow.runs for each row execute function tap.note('run');
create trigger note before delete on pgmq.a_old__a for each row execute function tap.note('archive');
create trigger note before delete on pgflow.event_log for each row execute function tap.note('event');

call pgflow.prune_data(interval '7 days', batch_size => 10);
select results_eq(
  $$ select what, count(*)::int from tap.removed group by what, transaction order by 1, 2 $$,
  $$ values ('archive', 5), ('archive', 10), ('archive', 10), ('event', 3), ('event', 10), ('event', 10),
       ('run', 5), ('run', 10), ('run', 10) $$,
  'three transactions for each kind, none longer than its chunk'
);
select is((select count(*)::int from pgflow.runs), 0, 'nothing old is left');
select is((select count(*)::int from pgmq.a_old__a), 0, 'in the archive neither');

select is((select min(event::int) from pgflow.event_log), 24, 'events of the last seven days stay');
select pgflow.prune_data_older_than(interval '3 days') \g /dev/null
select is((select min(event::int) from pgflow.event_log), 28, 'in one transaction it prunes events too');
drop table pgflow.event_log;
select lives_ok($$ select pgflow.prune_data_older_than(interval '3 days') $$, 'without the sink');
create table pgflow.event_log (id bigint generated always as identity primary key, at timestamptz default clock_timestamp());
insert into pgflow.event_log (at) select now() from generate_series(1, 5000);
analyze pgflow.event_log;

-- Many young and active rows beside a few old ones: only the old ones are visited.
insert into pgflow.runs (flow_slug, input, status, started_at, completed_at)
  select 'old', '1', 'completed', now() - make_interval(mins => n), now() from generate_series(1, 5000) n;
insert into pgmq.a_old__a (msg_id, vt) select n, now() from generate_series(100, 5100) n;
analyze pgflow.runs, pgmq.a_old__a;
create function tap.plan_of(p_sql text) returns text language plpgsql as $$
declare
  v_line text;
  v_plan text := '';
begin
  for v_line in execute 'explain ' || p_sql loop v_plan := v_plan || v_line || E'\n'; end loop;
  return v_plan;
end $$;
select matches(
  tap.plan_of($$ select r.run_id from pgflow.runs r where r.flow_slug = 'old' and r.started_at < now() - interval '7 days'
    and coalesce(r.completed_at, r.failed_at) < now() - interval '7 days' order by r.started_at limit 10 $$),
  'idx_runs_flow_started', 'old runs are found by index'
);
select matches(
  tap.plan_of($$ select a.msg_id from pgmq.a_old__a a where a.archived_at < now() - interval '7 days' limit 10 $$),
  'archived_at_idx_old__a', 'so are archived messages'
);
select matches(
  tap.plan_of($$ select log.id, log.at from pgflow.event_log log order by log.id limit 10 $$),
  'event_log_pkey', 'so are events'
);
select * from finish();
