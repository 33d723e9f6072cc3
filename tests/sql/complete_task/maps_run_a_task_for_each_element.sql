-- A map runs one task for each element, its output is the array of theirs, and an empty map completes without a task.
\ir ../../support/engine.psql
begin;
select plan(25);

-- Root map, map of a map, and a single after it.
select pgflow.create_flow('maps') \g /dev/null
select pgflow.add_step('maps', 'first', step_type => 'map') \g /dev/null
select pgflow.add_step('maps', 'second', array['first'], step_type => 'map') \g /dev/null
select pgflow.add_step('maps', 'sum', array['second']) \g /dev/null
select run_id as run from pgflow.start_flow('maps', '[10, null, {"k": 30}]') \gset
select results_eq(
  $$ select step_slug, task_index, input, flow_input from t.claim('maps') $$,
  $$ values ('first', 0, '10'::jsonb, null::jsonb), ('first', 1, 'null', null), ('first', 2, '{"k": 30}', null) $$,
  'each task of a root map gets one element of the run''s input'
);
select results_eq(
  format($$ select initial_tasks, remaining_tasks from pgflow.step_states where run_id = %L and step_slug = 'second' $$, :'run'),
  $$ values (null::int, null::int) $$, 'a dependent map does not know its size yet'
);
select pgflow.complete_task(:'run', 'first', 2, '"c"') \g /dev/null
select pgflow.complete_task(:'run', 'first', 0, '"a"') \g /dev/null
select is_empty('select t.broken()', 'all invariants hold in the middle of a map');
select is(t.steps(:'run')->>'first', 'started', 'two of three do not complete it');
select pgflow.complete_task(:'run', 'first', 1, 'null') \g /dev/null
select results_eq(
  format($$ select status, output, remaining_tasks from pgflow.step_states where run_id = %L and step_slug = 'first' $$, :'run'),
  $$ values ('completed', '["a", null, "c"]'::jsonb, 0) $$, 'the output is in the order of the elements, nulls included'
);
select results_eq(
  $$ select step_slug, task_index, input from t.claim('maps') $$,
  $$ values ('second', 0, '"a"'::jsonb), ('second', 1, 'null'), ('second', 2, '"c"') $$,
  'each task of a dependent map gets one element of its dependency''s output'
);
select pgflow.complete_task(:'run', 'second', n, to_jsonb(n)) from generate_series(0, 2) n \g /dev/null
select results_eq(
  $$ select input from t.claim('maps') $$, $$ values ('{"second": [0, 1, 2]}'::jsonb) $$, 'a single gets the whole array'
);
select pgflow.complete_task(:'run', 'sum', 0, '3') \g /dev/null
select is((select output from pgflow.runs where run_id = :'run'), '{"sum": 3}', 'the run completes');
select is(
  (select array_agg(distinct event) from pgflow.event_log where run_id = :'run' and event like 'step:first:%'),
  array['step:first:completed', 'step:first:started'], 'a map of three tasks starts once and completes once'
);
select is_empty('select t.broken()', 'all invariants hold at the end');

-- A root map of nothing completes everything behind it.
select run_id as run, status from pgflow.start_flow('maps', '[]') \gset
select is(t.steps(:'run'), '{"first": "completed", "second": "completed", "sum": "started"}', 'empty maps complete at once');
select results_eq(
  format($$ select output, started_at = completed_at, initial_tasks from pgflow.step_states
    where run_id = %L and step_slug = 'second' $$, :'run'),
  $$ values ('[]'::jsonb, true, 0) $$, 'with an empty array'
);
select results_eq($$ select input from t.claim('maps') $$, $$ values ('{"second": []}'::jsonb) $$, 'the single sees it');
select is(
  t.events(:'run'), array['run:started', 'step:first:completed', 'step:second:completed', 'step:sum:started'],
  'parents are told before their dependents'
);
select is_empty('select t.broken()', 'all invariants hold');

-- A2: a dependency returns nothing to map over.
select pgflow.create_flow('hollow') \g /dev/null
select pgflow.add_step('hollow', 'a') \g /dev/null
select pgflow.add_step('hollow', 'm', array['a'], step_type => 'map') \g /dev/null
select pgflow.add_step('hollow', 'z', array['m']) \g /dev/null
select run_id as run from pgflow.start_flow('hollow', '{}') \gset
select t.claim('hollow') \g /dev/null
select pgflow.complete_task(:'run', 'a', 0, '[]') \g /dev/null
select is(t.steps(:'run'), '{"a": "completed", "m": "completed", "z": "started"}', 'the map completes right after it');
select is((select count(*) from pgflow.step_tasks where run_id = :'run' and step_slug = 'm'), 0::bigint, 'without a task');
select results_eq($$ select input from t.claim('hollow') $$, $$ values ('{"m": []}'::jsonb) $$, 'and its dependent starts');
select is(
  (select payload ? 'remaining_tasks' and payload ? 'started_at' and payload->>'event_type' = 'step:completed'
     from pgflow.event_log where run_id = :'run' and event = 'step:m:completed'),
  true, 'the event of a step without tasks carries its counters'
);
select is_empty('select t.broken()', 'all invariants hold');

-- A map whose element fails for good.
select pgflow.create_flow('brittle', max_attempts => 1) \g /dev/null
select pgflow.add_step('brittle', 'm', step_type => 'map') \g /dev/null
select run_id as run from pgflow.start_flow('brittle', '[1, 2, 3]') \gset
select t.claim('brittle', p_qty => 2) \g /dev/null
select pgflow.complete_task(:'run', 'm', 0, '1') \g /dev/null
select pgflow.fail_task(:'run', 'm', 1, 'no') \g /dev/null
select is(
  (select array_agg(status order by task_index) from pgflow.step_tasks where run_id = :'run'),
  array['completed', 'failed', 'cancelled'], 'the queued element is cancelled, the completed one stays'
);
select is_empty('select t.broken()', 'all invariants hold');

-- And one that may.
select pgflow.create_flow('lenient', max_attempts => 1) \g /dev/null
select pgflow.add_step('lenient', 'm', step_type => 'map', when_exhausted => 'skip') \g /dev/null
select run_id as run from pgflow.start_flow('lenient', '[1, 2, 3]') \gset
select t.claim('lenient', p_qty => 2) \g /dev/null
select pgflow.complete_task(:'run', 'm', 0, '1') \g /dev/null
select pgflow.fail_task(:'run', 'm', 1, 'no') \g /dev/null
select is(
  (select array_agg(status order by task_index) from pgflow.step_tasks where run_id = :'run'),
  array['completed', 'failed', 'skipped'], 'siblings of a skipped map are skipped'
);
select results_eq(
  format($$ select status, output from pgflow.runs where run_id = %L $$, :'run'), $$ values ('completed', null::jsonb) $$,
  'the run completes with nothing'
);
select is_empty('select t.broken()', 'all invariants hold');

select * from finish();
rollback;
