-- create_flow and add_step keep upstream's contract and repair what it let through.
\ir ../support.psql
begin;
select plan(39);

-- create_flow
select results_eq(
  $$ select flow_slug, queue_mode, opt_max_attempts, opt_base_delay, opt_timeout from pgflow.create_flow('orderV1') $$,
  $$ values ('orderV1', 'flow', 3, 5, 60) $$, 'a flow has mode flow and the defaults 3, 5, 60'
);
select is(queues(), 'orderv1', 'and its default queue');
select results_eq(
  $$ select opt_max_attempts, opt_timeout from pgflow.create_flow('orderV1', max_attempts => 9, timeout => 9) $$,
  $$ values (3, 60) $$, 'creating it again changes nothing'
);
select is(queues(), 'orderv1', 'not even the queues');
select pgmq.drop_queue('orderv1');
select pgflow.create_flow('orderV1');
select is(queues(), 'orderv1', 'a lost default queue comes back');
select results_eq(
  $$ select opt_max_attempts, opt_base_delay, opt_timeout from pgflow.create_flow('optioned', 0, 0, 1) $$,
  $$ values (0, 0, 1) $$, 'options are kept'
);
select is(error_of($$ select pgflow.create_flow('ORDERv1') $$) - '{message,detail,hint}'::text[],
  '{"sqlstate": "23505", "kind": "idx_flows_normalized_slug"}', 'another spelling of a flow is refused by its index');
select is(error_of($$ select pgflow.create_flow('bad__slug') $$) - '{message,detail,hint}'::text[],
  '{"sqlstate": "23514", "kind": "slug_is_valid"}', 'an invalid slug by its check');
select is(error_of(format('select pgflow.create_flow(%L)', repeat('x', 129))) ->> 'kind', 'slug_is_valid', 'so is one of 129');
select lives_ok(format('select pgflow.create_flow(%L)', repeat('x', 47)), '47 characters fit');
select kind_is(format('select pgflow.create_flow(%L)', repeat('x', 48)), 'default_queue_name', '48 do not');
select pgmq.create('Taken');
select kind_is($$ select pgflow.create_flow('taken') $$, 'default_queue_taken', 'a listed queue is not adopted');
select is(error_of($$ select pgflow.create_flow('tAken') $$) ->> 'sqlstate', '23505', 'which is a unique violation');
select is_empty($$ select from pgflow.flows where flow_slug = 'taken' $$, 'and leaves no flow');

-- add_step
select results_eq(
  $$ select step_slug, queue_name, step_index, deps_count, step_type, when_unmet, when_exhausted
       from pgflow.add_step('orderV1', 'load') $$,
  $$ values ('load', 'orderv1', 0, 0, 'single', 'skip', 'fail') $$, 'the first step has index 0 and the default queue'
);
select results_eq(
  $$ select step_index, deps_count, opt_max_attempts, opt_base_delay, opt_timeout, opt_start_delay, step_type,
       required_input_pattern, forbidden_input_pattern, when_unmet, when_exhausted
     from pgflow.add_step('orderV1', 'lines', '{load}', 1, 2, 3, 4, 'map', '{"a": 1}', '{"b": 1}', 'fail', 'skip-cascade') $$,
  $$ values (1, 1, 1, 2, 3, 4, 'map', '{"a": 1}'::jsonb, '{"b": 1}'::jsonb, 'fail', 'skip-cascade') $$,
  'every option is kept'
);
select set_eq(
  $$ select dep_slug, step_slug from pgflow.deps where flow_slug = 'orderV1' $$, $$ values ('load', 'lines') $$, 'the edge too'
);
update pgflow.steps set queue_name = 'elsewhere' where flow_slug = 'orderV1' and step_slug = 'load';
select is((pgflow.add_step('orderV1', 'load')).queue_name, 'elsewhere', 'a repeated call never resets a route');
select is((select count(*)::int from pgflow.steps where flow_slug = 'orderV1'), 2, 'and adds nothing');
select lives_ok($$ select pgflow.add_step('orderV1', 'sum', '{load,lines}') $$, 'several dependencies');
select lives_ok($$ select pgflow.add_step('orderV1', 'sum', '{lines,load}') $$, 'whose order does not matter');
select kind_is($$ select pgflow.add_step('orderV1', 'sum', '{load}') $$, 'step_redefinition', 'other dependencies are refused');
select kind_is($$ select pgflow.add_step('orderV1', 'load', step_type => 'map') $$, 'step_redefinition', 'another type too');
select kind_is($$ select pgflow.add_step('orderV1', 'x', '{load,load}') $$, 'duplicate_dependency', 'a dependency named twice');
select kind_is($$ select pgflow.add_step('orderV1', 'x', '{load,lines}', step_type => 'map') $$, 'map_dependencies', 'a map over two');
select is(error_of($$ select pgflow.add_step('nobody', 'x') $$) ->> 'sqlstate', '23503', 'an unknown flow');
select is(error_of($$ select pgflow.add_step('orderv1', 'x') $$) ->> 'sqlstate', '23503', 'another spelling is unknown');
select is(error_of($$ select pgflow.add_step('orderV1', 'x', '{nobody}') $$) ->> 'sqlstate', '23503', 'an unknown dependency');
select is(error_of($$ select pgflow.add_step('orderV1', 'x', '{x}') $$) ->> 'sqlstate', '23514', 'a step that waits for itself');
select is(error_of($$ select pgflow.add_step('orderV1', 'x_') $$) - '{message,detail,hint}'::text[],
  '{"sqlstate": "23514", "kind": "steps_step_slug_check"}', 'an invalid slug');
select is(error_of($$ select pgflow.add_step('orderV1', 'LOAD') $$) - '{message,detail,hint}'::text[],
  '{"sqlstate": "23505", "kind": "idx_steps_normalized_slug"}', 'a step that differs in case only');
select is(error_of($$ select pgflow.add_step('orderV1', 'x', when_unmet => 'maybe') $$) ->> 'kind', 'when_unmet_is_valid', 'an unknown mode');
select is(error_of($$ select pgflow.add_step('orderV1', 'x', required_input_pattern => '[]') $$) ->> 'kind',
  'required_input_pattern_is_object', 'a pattern that is no object');
select is(error_of($$ select pgflow.add_step('orderV1', 'x', timeout => 0) $$) ->> 'kind', 'opt_timeout_is_positive', 'a timeout of 0');

-- A flow in step mode
select pgflow.ensure_flow_compiled('stepped', shape('a', 'b:a'), 'step');
select is((pgflow.create_flow('stepped')).queue_mode, 'step', 'create_flow returns a step-mode flow as it is');
select ok(queues() !~ '\mstepped( |$)', 'without a default queue');
select kind_is($$ select pgflow.add_step('stepped', 'c') $$, 'step_mode_incremental', 'steps are not added one by one');
select kind_is($$ select pgflow.add_step('stepped', 'a') $$, 'step_mode_incremental', 'not even known ones');
select set_eq(
  $$ select step_slug, queue_name from pgflow.steps where flow_slug = 'stepped' $$,
  $$ values ('a', 'stepped__a'), ('b', 'stepped__b') $$, 'routes stay'
);

select * from finish();
rollback;
