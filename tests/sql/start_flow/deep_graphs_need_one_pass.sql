-- Cascades have no limit of rounds and visit each step once, however many paths lead to it.
\ir ../../support/engine.psql
begin;
select plan(7);

-- A22: a chain of 201 empty maps.
select pgflow.create_flow('deep') \g /dev/null
select pgflow.add_step('deep', 's0', step_type => 'map') \g /dev/null
select pgflow.add_step('deep', 's' || n, array['s' || n - 1], step_type => 'map') from generate_series(1, 200) n \g /dev/null
select status, run_id as run from pgflow.start_flow('deep', '[]') \gset
select is(:'status'::text, 'completed', '201 empty maps in a row complete');
select is((select output from pgflow.runs where run_id = :'run'), '{"s200": []}', 'the last one is the output');
select is_empty('select t.broken()', 'all invariants hold');

-- A22: 20 layers of two steps, each depending on both of the layer before: 2^20 paths.
select pgflow.create_flow('diamond', max_attempts => 1) \g /dev/null
select pgflow.add_step('diamond', 'top', when_exhausted => 'skip-cascade') \g /dev/null
select pgflow.add_step('diamond', 'l0', array['top']), pgflow.add_step('diamond', 'r0', array['top']) \g /dev/null
select
    pgflow.add_step('diamond', 'l' || n, array['l' || n - 1, 'r' || n - 1]),
    pgflow.add_step('diamond', 'r' || n, array['l' || n - 1, 'r' || n - 1])
  from generate_series(1, 20) n \g /dev/null
select run_id as run from pgflow.start_flow('diamond', '{}') \gset
select t.claim('diamond') \g /dev/null
set local statement_timeout = '5s';
select pgflow.fail_task(:'run', 'top', 0, 'no') \g /dev/null
select is(
  (select array_agg(distinct status) from pgflow.step_states where run_id = :'run'), array['skipped'],
  'a cascade through 2^20 paths ends'
);
select is(
  (select count(*) from pgflow.event_log where run_id = :'run' and event like '%:skipped'), 43::bigint,
  'each step is told once'
);
select is((select status from pgflow.runs where run_id = :'run'), 'completed', 'and the run completes');
select is_empty('select t.broken()', 'all invariants hold');

select * from finish();
rollback;
