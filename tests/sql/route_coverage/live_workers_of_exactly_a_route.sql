-- Coverage counts live workers of exactly a route: not stopped, not deprecated, heartbeat younger than 6 seconds.
\ir ../support.psql
\set query `cat ../../../sql/operator/coverage.sql`
begin;
select plan(6);
select pgflow.ensure_flow_compiled('cov', shape('live', 'twice', 'stopped', 'deprecated', 'stale', 'nobody', 'spelled'), 'step');
select pgflow.ensure_flow_compiled('other', shape('x'), 'step');
select pgflow.ensure_flow_compiled('plain', shape('x'), 'flow');
insert into pgflow.worker_functions (function_name) values ('cov/nobody');
-- A21: live, stopped, deprecated, stale and double workers.
insert into pgflow.workers (worker_id, queue_name, function_name, deprecated_at, stopped_at, last_heartbeat_at) values
  (gen_random_uuid(), 'cov__live', 'f', null, null, clock_timestamp()),
  (gen_random_uuid(), 'cov__twice', 'f', null, null, clock_timestamp()),
  (gen_random_uuid(), 'cov__twice', 'f', null, null, clock_timestamp() - interval '2 seconds'),
  (gen_random_uuid(), 'cov__twice', 'f', null, clock_timestamp(), clock_timestamp()),
  (gen_random_uuid(), 'cov__stopped', 'f', null, clock_timestamp(), clock_timestamp()),
  (gen_random_uuid(), 'cov__deprecated', 'f', clock_timestamp(), null, clock_timestamp()),
  (gen_random_uuid(), 'cov__stale', 'f', null, null, clock_timestamp() - interval '7 seconds'),
  (gen_random_uuid(), 'COV__spelled', 'f', null, null, clock_timestamp()),
  (gen_random_uuid(), 'plain', 'f', null, null, clock_timestamp());

create temp table want (step_slug text, live_workers int, covered boolean);
insert into want values ('live', 1, true), ('twice', 2, true), ('stopped', 0, false), ('deprecated', 0, false),
  ('stale', 0, false), ('nobody', 0, false), ('spelled', 0, false);
select results_eq(
  $$ select step_slug, live_workers, covered from pgflow.route_coverage('cov') $$, 'select * from want', 'one row a route, in order'
);
select is((select count(*)::int from pgflow.route_coverage()), 8, 'all step-mode flows without an argument');
select is_empty($$ select from pgflow.route_coverage('plain') $$, 'a plain flow has no step routes');
select is_empty($$ select from pgflow.route_coverage('COV') $$, 'a slug is exact');
select is((select queue_name from pgflow.route_coverage('other')), 'other__x', 'with its queue');
prepare shipped as :query;
select results_eq('shipped', 'select * from pgflow.route_coverage()', 'the shipped query says the same');
select * from finish();
rollback;
