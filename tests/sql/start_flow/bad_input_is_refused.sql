-- start_flow refuses what cannot run, with the constraint a client can match on, and leaves nothing behind.
\ir ../../support/engine.psql
begin;
select plan(16);

select pgflow.create_flow('plain') \g /dev/null
select pgflow.add_step('plain', 'a') \g /dev/null
select pgflow.create_flow('rooted') \g /dev/null
select pgflow.add_step('rooted', 'm', step_type => 'map') \g /dev/null
select pgflow.create_flow('empty') \g /dev/null

select is(t.refusal($$ select pgflow.start_flow('nope', '{}') $$), '23503 runs_flow_slug_fkey', 'an unknown flow');
select is(t.refusal($$ select pgflow.start_flow('PLAIN', '{}') $$), '23503 runs_flow_slug_fkey', 'a wrong spelling');
select is(split_part(t.refusal($$ select pgflow.start_flow('plain', null) $$), ' ', 1), '23502', 'no input');
select is(
  t.refusal($$ select pgflow.start_flow('rooted', '{"no": 1}') $$), 'P0001 pgflow_root_map_input', 'an object for a map'
);
select is(
  t.refusal($$ select pgflow.start_flow('rooted', null) $$), 'P0001 pgflow_root_map_input', 'nothing for a map'
);
select throws_ok(
  $$ select pgflow.start_flow('rooted', '"x"') $$,
  'Flow "rooted" starts with a map step, so its input must be an array (got string).', 'the message names the flow and type'
);
select run_id as run from pgflow.start_flow('plain', '{}', '11111111-2222-3333-4444-555555555555') \gset
select is(:'run'::text, '11111111-2222-3333-4444-555555555555', 'a given run_id is used');
select is(
  t.refusal($$ select pgflow.start_flow('plain', '{}', '11111111-2222-3333-4444-555555555555') $$),
  '23505 runs_pkey', 'but only once'
);
select is((select count(*) from pgflow.runs), 1::bigint, 'no refused run is left behind');
select results_eq(
  $$ select status, input from pgflow.start_flow('plain', 'null') $$, $$ values ('started', 'null'::jsonb) $$,
  'JSON null is an input'
);
select results_eq(
  $$ select status, output, remaining_steps from pgflow.start_flow('empty', '{}') $$,
  $$ values ('completed', null::jsonb, 0) $$, 'an empty flow completes at once'
);
select is_empty('select t.broken()', 'all invariants hold');

-- Snapshots.
select pgflow.add_step('plain', 'z', array['a']) \g /dev/null
select pgflow.add_step('plain', 'b', array['a']) \g /dev/null
select pgflow.start_flow_with_states('plain', '{"x": 1}') as snapshot \gset
select is(:'snapshot'::jsonb #>> '{run,status}', 'started', 'start_flow_with_states returns the run');
select is(
  jsonb_path_query_array(:'snapshot', '$.steps[*].step_slug'), '["a", "z", "b"]', 'and its steps in the order of definition'
);
select is(
  pgflow.get_run_with_states((:'snapshot'::jsonb #>> '{run,run_id}')::uuid), :'snapshot'::jsonb,
  'get_run_with_states returns the same'
);
select is(pgflow.get_run_with_states(gen_random_uuid()), null, 'an unknown run is NULL');

select * from finish();
rollback;
