-- ensure_flow_compiled creates, verifies, refuses or (locally) recompiles, and says which.
\ir ../support.psql
begin;
select plan(60);

create function pg_temp.compile(p_flow text, p_shape jsonb, p_mode text default 'step', p_routes jsonb default null)
returns text language sql as $$
  select result ->> 'status' || coalesce(' ' || (result ->> 'mismatchKind'), '') ||
      coalesce(' | ' || (select string_agg(d, ' | ') from jsonb_array_elements_text(result -> 'differences') d), '')
    from pgflow.ensure_flow_compiled(p_flow, p_shape, p_mode, p_routes) result
$$;
create function pg_temp.routes(p_flow text) returns text language sql as $$
  select string_agg(step_index || ':' || step_slug || '->' || queue_name, ' ' order by step_index)
    from pgflow.steps where flow_slug = p_flow
$$;

-- Step mode
select is(
  pgflow.ensure_flow_compiled('threadsV1', shape('classify', 'deliverSlack:classify'), 'step'),
  '{"status": "compiled", "differences": [], "mismatchKind": null}', 'an absent flow is compiled'
);
select is(queues(), 'threadsv1__classify threadsv1__deliverslack', 'exactly the step queues exist, no default queue');
select is(pg_temp.routes('threadsV1'), '0:classify->threadsv1__classify 1:deliverSlack->threadsv1__deliverslack', 'routes are stored');
select results_eq(
  $$ select queue_mode, opt_max_attempts, opt_base_delay, opt_timeout from pgflow.flows $$,
  $$ values ('step', 3, 5, 60) $$, 'with mode step and the defaults'
);
select results_eq(
  $$ select dep_slug, step_slug, deps_count from pgflow.deps join pgflow.steps using (flow_slug, step_slug) $$,
  $$ values ('classify', 'deliverSlack', 1) $$, 'and the edge'
);
select is(pg_temp.compile('threadsV1', shape('classify', 'deliverSlack:classify')), 'verified', 'the same again is verified');
select is(
  pg_temp.compile('threadsV1', shape('classify', 'deliverSlack:classify'), 'step', '[
    {"stepSlug": "classify", "queueName": "threadsv1__classify", "stepIndex": 0},
    {"queueName": "threadsv1__deliverslack", "stepSlug": "deliverSlack"}]'),
  'verified', 'also with the routes, whose other keys do not count'
);
select is(queues(), 'threadsv1__classify threadsv1__deliverslack', 'verification creates nothing');

-- Every option arrives.
select is(pg_temp.compile('full', '{
  "options": {"maxAttempts": 7, "baseDelay": 0, "timeout": 9},
  "steps": [
    {"slug": "a", "stepType": "map", "options": {"maxAttempts": 1, "baseDelay": 2, "timeout": 3, "startDelay": 4},
     "whenUnmet": "skip-cascade", "whenExhausted": "skip",
     "requiredInputPattern": {"defined": true, "value": {"x": 1}}, "forbiddenInputPattern": {"defined": false}},
    {"slug": "b", "dependencies": ["a"], "forbiddenInputPattern": {"defined": true, "value": {}}, "options": {}}]}'),
  'compiled', 'a shape with every option');
select results_eq(
  $$ select opt_max_attempts, opt_base_delay, opt_timeout from pgflow.flows where flow_slug = 'full' $$,
  $$ values (7, 0, 9) $$, 'the flow has its options'
);
select results_eq(
  $$ select step_slug, step_type, opt_max_attempts, opt_base_delay, opt_timeout, opt_start_delay, when_unmet,
       when_exhausted, required_input_pattern, forbidden_input_pattern
     from pgflow.steps where flow_slug = 'full' order by step_index $$,
  $$ values ('a', 'map', 1, 2, 3, 4, 'skip-cascade', 'skip', '{"x": 1}'::jsonb, null::jsonb),
            ('b', 'single', null, null, null, null, 'skip', 'fail', null, '{}') $$,
  'so have the steps; what is left out has its default'
);
select is(
  pgflow._get_flow_shape('full'),
  '{"steps": [
    {"slug": "a", "stepType": "map", "dependencies": [], "whenUnmet": "skip-cascade", "whenExhausted": "skip",
     "requiredInputPattern": {"defined": true, "value": {"x": 1}}, "forbiddenInputPattern": {"defined": false}},
    {"slug": "b", "stepType": "single", "dependencies": ["a"], "whenUnmet": "skip", "whenExhausted": "fail",
     "requiredInputPattern": {"defined": false}, "forbiddenInputPattern": {"defined": true, "value": {}}}]}',
  'the stored shape is complete and has no options'
);
select is(pgflow._get_flow_shape('nobody'), '{"steps": []}', 'an unknown flow has the empty shape');

-- Mismatches return and change nothing.
select is(
  pg_temp.compile('threadsV1', shape('classify')),
  'mismatch shape | Step count differs: 1 vs 2 | Step at index 1: missing in first shape (second has ''deliverSlack'')'
  ' | Step routes differ: database has [classify -> threadsv1__classify, deliverSlack -> threadsv1__deliverslack],'
  ' worker expects [classify -> threadsv1__classify]', 'fewer steps'
);
select matches(
  pg_temp.compile('threadsV1', shape('classify', 'deliverSlack:classify', 'more')),
  '^mismatch shape \| Step count differs: 3 vs 2 \| Step at index 2: missing in second shape \(first has ''more''\)', 'more steps'
);
select is(
  pg_temp.compile('threadsV1', shape('classify', 'deliverSlack*')),
  'mismatch shape | Step at index 1: type differs ''map'' vs ''single'' | Step at index 1: dependencies differ [] vs [classify]',
  'type, then dependencies'
);
select is(
  pg_temp.compile('threadsV1', jsonb_set(jsonb_set(jsonb_set(jsonb_set(shape('classify', 'deliverSlack:classify'),
    '{steps,1,whenUnmet}', '"fail"'), '{steps,1,whenExhausted}', '"skip"'),
    '{steps,0,requiredInputPattern}', '{"defined": true, "value": {"a": 1}}'), '{steps,0,forbiddenInputPattern}', 'null')),
  'mismatch shape | Step at index 0: requiredInputPattern differs ''{"value": {"a": 1}, "defined": true}'' vs ''{"defined": false}'''
  ' | Step at index 1: whenUnmet differs ''fail'' vs ''skip'' | Step at index 1: whenExhausted differs ''skip'' vs ''fail''',
  'modes and patterns; a missing pattern is an undefined one'
);
select is(
  pg_temp.compile('threadsV1', shape('classify', 'deliverSlack:classify'), 'flow'),
  'mismatch routing | Queue mode differs: database has ''step'', worker expects ''flow'' | Step routes differ: database has '
  '[classify -> threadsv1__classify, deliverSlack -> threadsv1__deliverslack], worker expects '
  '[classify -> threadsv1, deliverSlack -> threadsv1]', 'another mode is a routing mismatch'
);
select is(pg_temp.compile('threadsV1', shape('classify', 'deliverSlack:classify') || '{"options": {"timeout": 1}}'), 'verified', 'options are not compared');
select is(queues(), 'full__a full__b threadsv1__classify threadsv1__deliverslack', 'no mismatch touched a queue');
select is(pgflow._compare_flow_shapes(shape('a', 'b', 'c:b,a'), shape('a', 'b', 'c:a,b')), '{}', 'the order of dependencies does not count');
select is(pgflow._compare_flow_shapes('{"steps": [{"slug": "a"}]}', shape('a')), '{}', 'what one side leaves out is no difference');

-- A17: a tampered route is found although shape and mode match.
savepoint tampered;
update pgflow.steps set queue_name = 'elsewhere' where flow_slug = 'threadsV1' and step_slug = 'classify';
select is(
  pg_temp.compile('threadsV1', shape('classify', 'deliverSlack:classify')),
  'mismatch routing | Step routes differ: database has [classify -> elsewhere, deliverSlack -> threadsv1__deliverslack], '
  'worker expects [classify -> threadsv1__classify, deliverSlack -> threadsv1__deliverslack]', 'a tampered route'
);
update pgflow.steps set queue_name = case step_slug when 'classify' then 'threadsv1__deliverslack' else 'threadsv1__classify' end
  where flow_slug = 'threadsV1';
select matches(pg_temp.compile('threadsV1', shape('classify', 'deliverSlack:classify')), '^mismatch routing \| Step routes differ', 'swapped routes');
rollback to tampered;

-- A19: verification checks the queues again.
savepoint dropped;
select pgmq.drop_queue('threadsv1__classify');
select kind_is($$ select pg_temp.compile('threadsV1', shape('classify', 'deliverSlack:classify')) $$, 'queue_missing', 'a dropped step queue');
select pgmq.create('threadsv1__classify'), pgmq.create('ThreadsV1__classify');
select kind_is($$ select pg_temp.compile('threadsV1', shape('classify', 'deliverSlack:classify')) $$, 'queue_ambiguous', 'two spellings');
rollback to dropped;

-- Flow mode
select is(pg_temp.compile('plainV1', shape('a', 'b:a'), 'flow'), 'compiled', 'flow mode compiles');
select is(pg_temp.routes('plainV1'), '0:a->plainv1 1:b->plainv1', 'every step has the default queue');
select is(pg_temp.compile('plainV1', shape('a', 'b:a'), null), 'verified', 'no mode is flow mode');
select is(pg_temp.compile('emptyV1', '{}', 'flow'), 'compiled', 'an empty plain flow');
select is(pg_temp.compile('emptyV2', null, 'flow'), 'compiled', 'even without a shape');
select is(queues(), 'emptyv1 emptyv2 full__a full__b plainv1 threadsv1__classify threadsv1__deliverslack', 'gets its default queue');
select is(pg_temp.compile('emptyV1', shape(''), 'flow', '[]'), 'verified', 'and is verified');
select is((pgflow.create_flow('byHand')).flow_slug, 'byHand', 'a flow made by create_flow');
select is((pgflow.add_step('byHand', 'a')).queue_name, 'byhand', 'and add_step');
select is(pg_temp.compile('byHand', shape('a'), 'flow'), 'verified', 'equals the compiled one');
savepoint lost;
set client_min_messages = error;
select pgmq.drop_queue('plainv1');
select is(pg_temp.compile('plainV1', shape('a', 'b:a'), 'flow'), 'verified', 'a lost default queue is a warning only');
rollback to lost;

-- A16: preflight refuses, and nothing is left behind.
create temp table before as select queues() as queues, (select count(*) from pgflow.flows) as flows;
select kind_is($$ select pg_temp.compile('x', shape('a'), 'many') $$, 'queue_mode', 'an unknown mode');
select kind_is($$ select pg_temp.compile('x', shape('')) $$, 'empty_flow', 'no steps in step mode');
select kind_is($$ select pg_temp.compile('x__y', shape('a')) $$, 'invalid_flow_slug', 'a bad flow slug');
select kind_is($$ select pg_temp.compile('x', shape('a', 'b_')) $$, 'invalid_step_slug', 'a bad step slug');
select kind_is($$ select pg_temp.compile('x', shape('b', 'B')) $$, 'duplicate_step_slug', 'a case-only duplicate');
select kind_is($$ select pg_temp.compile('x', shape('a', 'b'), 'step', '[{"stepSlug": "a", "queueName": "x__a"}]') $$, 'route_map_length', 'a missing route');
select kind_is($$ select pg_temp.compile('x', shape('a'), 'step', '{}') $$, 'route_map_length', 'routes that are no list');
select kind_is($$ select pg_temp.compile('x', shape('a'), 'step', '[{"stepSlug": "a", "queueName": "mine"}]') $$, 'route_map_entry', 'a route of the caller''s own');
select kind_is($$ select pg_temp.compile('x', shape('a', 'b'), 'step', '[{"stepSlug": "b", "queueName": "x__b"}, {"stepSlug": "a", "queueName": "x__a"}]') $$, 'route_map_entry', 'reordered routes');
select kind_is($$ select pg_temp.compile('x', shape('a', 'b'), 'step', '[{"stepSlug": "a", "queueName": "x__a"}, {"stepSlug": "a", "queueName": "x__a"}]') $$, 'route_map_entry', 'duplicate routes');
select kind_is($$ select pg_temp.compile('plainV1', shape('a', 'b:a'), 'flow', '[{"stepSlug": "a", "queueName": "plainv1"}]') $$, 'route_map_length', 'the map is checked on every call');
select kind_is($$ select pg_temp.compile('THREADSV1', shape('classify', 'deliverSlack:classify')) $$, 'queue_foreign_owner', 'another spelling of a step-mode flow');
select kind_is($$ select pg_temp.compile('PLAINV1', shape('a'), 'flow') $$, 'idx_flows_normalized_slug', 'another spelling of a plain flow');
select kind_is(format('select pg_temp.compile(%L, shape(%L), %L)', repeat('x', 48), 'a', 'flow'), 'default_queue_name', '48 characters in flow mode');
select pgmq.create('Y__B');
select kind_is($$ select pg_temp.compile('y', shape('a', 'b')) $$, 'queue_unowned', 'a listed queue is not adopted');
select pgmq.create('y__b');
select kind_is($$ select pg_temp.compile('y', shape('a', 'b')) $$, 'queue_ambiguous', 'nor one that is listed twice');
select pgmq.create('z');
select kind_is($$ select pg_temp.compile('z', shape('a'), 'flow') $$, 'default_queue_taken', 'nor a default queue');
select is(pg_temp.compile('z', shape('a')), 'compiled', 'which is no matter to step mode');
insert into pgflow.flows (flow_slug) values ('intruder');
insert into pgflow.steps (flow_slug, step_slug, queue_name) values ('intruder', 'a', 'w__a');
select kind_is($$ select pg_temp.compile('w', shape('a')) $$, 'queue_foreign_owner', 'a name that another flow references');
select is((select count(*) from pgflow.flows) - 2, (select flows from before), 'the refused left no flow');
select is(queues(), (select string_agg(q, ' ' order by q collate "C") from (select unnest(string_to_array(queues, ' ')) from before union all select unnest('{Y__B,y__b,z,z__a}'::text[])) s (q)), 'and no queue');
-- Owned and listed is false, absent is true.
select is(pgflow._assert_step_queue_available('z', 'z__a'), false, 'an owned queue needs no creation');
select is(pgflow._assert_step_queue_available('z', 'z__b'), true, 'an absent one does');

select * from finish();
rollback;
