-- start_flows starts a run for each input, in their order, all or none; each run is what start_flow would have made of it.
\ir ../../support/engine.psql
begin;
select plan(15);

select pgflow.create_flow('pair') \g /dev/null
select pgflow.add_step('pair', 'a') \g /dev/null
select pgflow.add_step('pair', 'b', array['a']) \g /dev/null
select pgflow.create_flow('rooted') \g /dev/null
select pgflow.add_step('rooted', 'm', step_type => 'map') \g /dev/null
select pgflow.create_flow('picky') \g /dev/null
select pgflow.add_step('picky', 'a', required_input_pattern => '{"go": true}') \g /dev/null

select results_eq(
  $$ select input, status, remaining_steps from pgflow.start_flows('pair', array['1', 'null', '3']::jsonb[]) $$,
  $$ values ('1'::jsonb, 'started', 2), ('null', 'started', 2), ('3', 'started', 2) $$, 'one run for each input, in their order'
);
select is((select count(distinct run_id) from pgflow.runs), 3::bigint, 'each with an id of its own');
select is((select count(*) from pgmq.q_pair), 3::bigint, 'and with its message');
select results_eq(
  $$ select step_slug, status, remaining_deps, initial_tasks, count(*) from pgflow.step_states group by 1, 2, 3, 4 order by 1 $$,
  $$ values ('a', 'started', 0, 1, 3::bigint), ('b', 'created', 1, 1, 3) $$, 'and with all of its steps'
);
select results_eq(
  $$ select run_id::text, input from pgflow.start_flows('pair', array['"x"', '"y"']::jsonb[],
      array['22222222-2222-3333-4444-555555555555', '11111111-2222-3333-4444-555555555555']::uuid[]) $$,
  $$ values ('22222222-2222-3333-4444-555555555555', '"x"'::jsonb), ('11111111-2222-3333-4444-555555555555', '"y"') $$,
  'given ids belong to the inputs at their places'
);
select results_eq(
  $$ select input, status from pgflow.start_flows('rooted', array['[1, 2]', '[]', '[3]']::jsonb[]) $$,
  $$ values ('[1, 2]'::jsonb, 'started'), ('[]', 'completed'), ('[3]', 'started') $$, 'nothing to do ends a run at once'
);
select results_eq(
  $$ select r.input, count(t.run_id) from pgflow.runs r left join pgflow.step_tasks t using (run_id)
      where r.flow_slug = 'rooted' group by 1 order by 1 $$,
  $$ values ('[]'::jsonb, 0::bigint), ('[3]', 1), ('[1, 2]', 2) $$, 'a map has a task for each element of its own run''s input'
);
select results_eq(
  $$ select input, status from pgflow.start_flows('picky', array['{"go": true}', '{}']::jsonb[]) $$,
  $$ values ('{"go": true}'::jsonb, 'started'), ('{}', 'completed') $$, 'conditions are judged by each run''s own input'
);
select is_empty($$ select * from pgflow.start_flows('pair', '{}') $$, 'no input, no run');

create temp table before as select count(*) as runs from pgflow.runs;
select is(
  t.refusal($$ select pgflow.start_flows('rooted', array['[1]', '{"no": 1}']::jsonb[]) $$),
  'P0001 pgflow_root_map_input', 'one wrong input refuses all'
);
select is(
  split_part(t.refusal($$ select pgflow.start_flows('pair', array['1', null]::jsonb[]) $$), ' ', 1), '23502', 'so does a missing one'
);
select is(
  t.refusal($$ select pgflow.start_flows('pair', array['1', '2']::jsonb[], array[gen_random_uuid()]) $$),
  '22023 pgflow_argument_invalid', 'ids are given for all inputs or for none'
);
select is(t.refusal($$ select pgflow.start_flows('nope', array['1']::jsonb[]) $$), '23503 runs_flow_slug_fkey', 'an unknown flow');
select is((select count(*) from pgflow.runs), (select runs from before), 'nothing of a refused call is left behind');
select is_empty('select t.broken()', 'all invariants hold');

select * from finish();
rollback;
