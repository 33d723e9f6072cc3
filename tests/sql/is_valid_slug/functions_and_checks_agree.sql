-- Slugs and queue names: the functions and the tables' CHECKs say the same.
\ir ../support.psql
begin;
create temp table sample (slug text, good boolean);
insert into sample values
  ('a', true), ('Z', true), ('camelCase', true), ('a_b_c', true), ('a1', true), ('a_1', true), ('Run', true), ('runs', true),
  (repeat('a', 128), true),
  ('', false), ('run', false), ('1a', false), ('_a', false), ('a_', false), ('a__b', false), ('_', false), ('a-b', false),
  ('a b', false), (' a', false), ('a.b', false), (E'a\n', false), (E'a\nb', false), ('é', false), ('aé', false), ('ſ', false),
  (U&'\212A', false), (repeat('a', 129), false);
select plan(3 * count(*)::int + 8) from sample;

insert into pgflow.flows (flow_slug) values ('holder');
select is(pgflow.is_valid_slug(slug), good, 'function: ' || quote_literal(left(slug, 20))) from sample;
select is(error_of(format('insert into pgflow.flows (flow_slug) values (%L)', slug)) ->> 'kind',
  case when not good then 'slug_is_valid' end, 'flows: ' || quote_literal(left(slug, 20))) from sample;
select is(error_of(format($$ insert into pgflow.steps (flow_slug, step_slug, queue_name) values ('holder', %L, 'q') $$, slug)) ->> 'kind',
  case when not good then 'steps_step_slug_check' end, 'steps: ' || quote_literal(left(slug, 20))) from sample;
select is(pgflow.is_valid_slug(null), false, 'NULL is no slug');

select is(pgflow.is_valid_queue_name(name), good, coalesce(quote_literal(left(name, 10)), 'NULL') || ' as a route')
  from (values ('a', true), ('a__b', true), (repeat('a', 47), true), (repeat('a', 48), false), ('A', false), ('', false), (null, false)) s (name, good);

select * from finish();
rollback;
