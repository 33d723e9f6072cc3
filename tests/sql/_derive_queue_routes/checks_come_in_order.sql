-- The preflight checks P1 to P13: a definition that breaks all of them hears of the first, and so on, one by one.
\ir ../support.psql
begin;
select plan(23);

create function pg_temp.compiled(p_flow text, p_shape jsonb, p_mode text, p_routes jsonb default '1') returns text
language sql as $$
  select coalesce(
    tap.error_of(format('select pgflow.ensure_flow_compiled(%L, %L, %L, %L)', p_flow, p_shape, p_mode, p_routes)) ->> 'kind', 'none')
$$;

-- Step mode: each line mends what the last one named.
\set bad '''{"steps": [{"slug": "_x"}, {"slug": "ab", "stepType": "heap"}, {"slug": "AB"}]}'''
select is(pg_temp.compiled('a__b', '{"steps": []}', 'both'), 'queue_mode', 'P1 comes before P2');
select is(pg_temp.compiled('a__b', '{"steps": []}', 'step'), 'empty_flow', 'P2 before P3');
select is(pg_temp.compiled('a__b', :bad, 'step'), 'invalid_flow_slug', 'P3 before P4');
select is(pg_temp.compiled('a__b', '{"steps": 1}', 'step'), 'invalid_flow_slug', 'and before a shape that nobody can read');
select is(pg_temp.compiled('a__b', '[]', 'flow'), 'invalid_flow_slug', 'in flow mode too');
select is(pg_temp.compiled(repeat('f', 45), :bad, 'step'), 'invalid_step_slug', 'P4 before P5, P6 and P7');
select is(pg_temp.compiled(repeat('f', 45), :bad, 'flow'), 'invalid_step_slug', 'in flow mode too');
\set bad '''{"steps": [{"slug": "ab", "stepType": "heap"}, {"slug": "AB"}]}'''
select is(pg_temp.compiled(repeat('f', 45), :bad, 'step'), 'duplicate_step_slug', 'P5 before P6');
\set bad '''{"steps": [{"slug": "ab", "stepType": "heap"}, {"slug": "c"}]}'''
select is(pg_temp.compiled(repeat('f', 45), :bad, 'step'), 'shape_invalid', 'P6 before P7');
\set good '''{"steps": [{"slug": "ab"}, {"slug": "c"}]}'''
create function pg_temp.pgmq_accepts_nothing() returns void language plpgsql as $$
begin
  create or replace function pgmq.validate_queue_name(queue_name text) returns void language plpgsql
    as 'begin raise exception using constraint = ''pgmq''; end';
end $$;
create function pg_temp.everything_is_one_queue() returns void language plpgsql as $$
begin
  create or replace function pgflow._resolve_step_queue_name(p_flow_slug text, p_step_slug text, p_step_index int) returns text
    language sql immutable as 'select ''same''';
end $$;
savepoint real;
select pg_temp.pgmq_accepts_nothing() \g /dev/null
select is(pg_temp.compiled(repeat('f', 45), :good, 'step'), 'flow_queue_name', 'P7 before P8');
select is(pg_temp.compiled(repeat('f', 48), :good, 'flow'), 'default_queue_name', 'in flow mode too');
select pg_temp.everything_is_one_queue() \g /dev/null
select is(pg_temp.compiled('Order', :good, 'step'), 'pgmq', 'P8 before P9');
rollback to real;
savepoint real;
select pg_temp.everything_is_one_queue() \g /dev/null
select is(pg_temp.compiled('Order', :good, 'step'), 'duplicate_queue_route', 'P9 before P10');
rollback to real;
select is(pg_temp.compiled('Order', :good, 'flow'), 'route_map_length', 'P10, in flow mode');

-- P10 before everything that looks at other definitions and at queues.
select pgflow.create_flow('Owner') \g /dev/null
select pgflow.add_step('Owner', 'a') \g /dev/null
select pgmq.create('order__ab') \g /dev/null
select pgmq.create('order__c') \g /dev/null
select pgmq.create('Order__C') \g /dev/null
update pgflow.steps set queue_name = 'order__d' where flow_slug = 'Owner';
\set good '''{"steps": [{"slug": "ab"}, {"slug": "c"}, {"slug": "d"}]}'''
select is(pg_temp.compiled('Order', :good, 'step'), 'route_map_length', 'P10 before P11: its length');
select is(
  pg_temp.compiled('Order', :good, 'step', '[{"stepSlug": "c", "queueName": "order__c"}, {"stepSlug": "ab", "queueName": "order__ab"}, {"stepSlug": "d", "queueName": "order__d"}]'),
  'route_map_entry', 'or its entries'
);
-- The third step breaks P11, the second P12, the first P13.
select is(pg_temp.compiled('Order', :good, 'step', null), 'queue_foreign_owner', 'P11 of any step before P12 of another');
update pgflow.steps set queue_name = 'owner' where flow_slug = 'Owner';
select is(pg_temp.compiled('Order', :good, 'step', null), 'queue_ambiguous', 'P12 of any step before P13 of another');
select pgmq.drop_queue('Order__C') \g /dev/null
select pgmq.create('order__c') \g /dev/null
select is(pg_temp.compiled('Order', :good, 'step', null), 'queue_unowned', 'P13');
select is_empty($$ select from pgflow.flows where flow_slug = 'Order' $$, 'none of them left a flow');
select is(queues(), 'order__ab order__c owner', 'or a queue');
select pgmq.drop_queue(q) from unnest(array['order__ab', 'order__c']) q \g /dev/null
select is(pg_temp.compiled('Order', :good, 'step', null), 'none', 'and with all mended it compiles');
select pgflow.ensure_flow_compiled('Order', :good, 'step') \g /dev/null
insert into pgflow.steps (flow_slug, step_slug, queue_name, step_index) values ('Owner', 'b', 'order__ab', 1);
select is(pg_temp.compiled('Order', :good, 'step', null), 'queue_foreign_owner', 'verification looks at other flows as well');

select * from finish();
rollback;
