-- Conditions are judged once, when nothing is left to wait for, and their mode decides what an unmet one does.
\ir ../../support/engine.psql
begin;
select plan(26);

-- A6: unmet conditions of roots, and what depends on them.
select pgflow.create_flow('picky') \g /dev/null
select pgflow.add_step('picky', 'yes', required_input_pattern => '{"a": 1}', forbidden_input_pattern => '{"b": 2}') \g /dev/null
select pgflow.add_step('picky', 'skipped', required_input_pattern => '{"z": 1}') \g /dev/null
select pgflow.add_step('picky', 'cascaded', forbidden_input_pattern => '{"a": 1}', when_unmet => 'skip-cascade') \g /dev/null
select pgflow.add_step('picky', 'after_skipped', array['skipped']) \g /dev/null
select pgflow.add_step('picky', 'map_after_skipped', array['skipped'], step_type => 'map') \g /dev/null
select pgflow.add_step('picky', 'after_cascaded', array['cascaded', 'yes']) \g /dev/null
select run_id as run from pgflow.start_flow('picky', '{"a": 1}') \gset
select is(
  t.steps(:'run'),
  '{"yes": "started", "skipped": "skipped", "cascaded": "skipped", "after_skipped": "started",
    "map_after_skipped": "completed", "after_cascaded": "skipped"}',
  'a met root starts, an unmet one is skipped, a plain skip satisfies dependents, a cascading one skips them'
);
select is(
  (select jsonb_object_agg(step_slug, skip_reason) from pgflow.step_states where run_id = :'run' and status = 'skipped'),
  '{"skipped": "condition_unmet", "cascaded": "condition_unmet", "after_cascaded": "dependency_skipped"}',
  'each skip has its reason'
);
select results_eq(
  format($$ select step_slug, input from t.claim('picky') where step_slug = 'after_skipped' $$),
  $$ values ('after_skipped', '{}'::jsonb) $$, 'a skipped dependency is an absent key'
);
select is(
  t.events(:'run'),
  array['run:started', 'step:skipped:skipped', 'step:cascaded:skipped', 'step:after_cascaded:skipped',
    'step:map_after_skipped:completed', 'step:yes:started', 'step:after_skipped:started'],
  'everything is told in the order it happened'
);
select is_empty('select t.broken()', 'all invariants hold');
select pgflow.complete_task(:'run', s, 0, '1') from unnest(array['yes', 'after_skipped']) s \g /dev/null
select is(
  (select output from pgflow.runs where run_id = :'run'), '{"after_skipped": 1, "map_after_skipped": []}',
  'skipped leaves are absent from the output'
);
select is_empty('select t.broken()', 'all invariants hold at the end');

select run_id as run from pgflow.start_flow('picky', '{"a": 1, "b": 2}') \gset
select is(t.steps(:'run')->>'yes', 'skipped', 'a forbidden pattern outweighs a required one');

-- A7: an unmet fail ends the run at its start.
select pgflow.create_flow('strict') \g /dev/null
select pgflow.add_step('strict', 'lenient', required_input_pattern => '{"z": 1}') \g /dev/null
select pgflow.add_step('strict', 'hard2', required_input_pattern => '{"z": 1}', when_unmet => 'fail') \g /dev/null
select pgflow.add_step('strict', 'hard', required_input_pattern => '{"z": 1}', when_unmet => 'fail') \g /dev/null
select pgflow.add_step('strict', 'plain') \g /dev/null
select run_id as run, status from pgflow.start_flow('strict', '{}') \gset
select is(:'status'::text, 'failed', 'start_flow returns the failed run');
select is(
  t.steps(:'run'), '{"lenient": "created", "hard2": "failed", "hard": "created", "plain": "created"}',
  'the first unmet fail is the culprit, and skips of the same wave are not applied'
);
select is(
  (select error_message from pgflow.step_states where run_id = :'run' and step_slug = 'hard2'), 'Condition not met',
  'it says why'
);
select is(t.events(:'run'), array['run:started', 'step:hard2:failed', 'run:failed'], 'the step fails before the run');
select is(
  (select payload->>'error_message' from pgflow.event_log where run_id = :'run' and event = 'run:failed'),
  'Condition not met', 'the run''s event carries the reason'
);
select is_empty('select t.broken()', 'all invariants hold');

-- A condition further down, and one behind a step without tasks.
select pgflow.create_flow('later') \g /dev/null
select pgflow.add_step('later', 'a') \g /dev/null
select pgflow.add_step('later', 'm', array['a'], step_type => 'map') \g /dev/null
select pgflow.add_step('later', 'b', array['m', 'a'], forbidden_input_pattern => '{"m": [1]}') \g /dev/null
select pgflow.add_step('later', 'c', array['m'], required_input_pattern => '{"m": [1]}') \g /dev/null
select run_id as run from pgflow.start_flow('later', '{}') \gset
select t.claim('later') \g /dev/null
select pgflow.complete_task(:'run', 'a', 0, '[]') \g /dev/null
select is(
  t.steps(:'run'), '{"a": "completed", "m": "completed", "b": "started", "c": "skipped"}',
  'a condition behind an empty map is judged on the map''s output'
);
select is_empty('select t.broken()', 'all invariants hold');

-- A failing condition in the middle cancels what runs beside it.
select pgflow.create_flow('abort') \g /dev/null
select pgflow.add_step('abort', 'a') \g /dev/null
select pgflow.add_step('abort', 'beside') \g /dev/null
select pgflow.add_step('abort', 'b', array['a'], required_input_pattern => '{"a": {"go": true}}', when_unmet => 'fail') \g /dev/null
select run_id as run from pgflow.start_flow('abort', '{}') \gset
select t.claim('abort') \g /dev/null
select is(
  (select status from pgflow.complete_task(:'run', 'a', 0, '{"go": false}')), 'completed', 'the completion itself stands'
);
select is(
  (select array[r.status, x.status] from pgflow.runs r join pgflow.step_tasks x using (run_id)
     where run_id = :'run' and x.step_slug = 'beside'), array['failed', 'cancelled'], 'the run fails around it'
);
select is(
  t.events(:'run'), array['run:started', 'step:a:started', 'step:beside:started', 'step:a:completed', 'step:b:failed',
    'run:failed'], 'the completion is told before the failure'
);
select is((select count(*) from pgmq.q_abort), 0::bigint, 'no message is left');
select is_empty('select t.broken()', 'all invariants hold');

-- An object pattern never matches an array.
select pgflow.create_flow('arrays') \g /dev/null
select pgflow.add_step('arrays', 'm', step_type => 'map', required_input_pattern => '{}') \g /dev/null
select run_id as run, status from pgflow.start_flow('arrays', '[1]') \gset
select is(t.steps(:'run'), '{"m": "skipped"}', 'a root map with an object condition is unmet for every array');
select is(:'status'::text, 'completed', 'a run whose every step is skipped at the start completes at once');
select is((select output from pgflow.runs where run_id = :'run'), null, 'with no output');

-- The public pieces by themselves.
select is(pgflow.cascade_resolve_conditions(:'run'), true, 'a finished run is left alone');
select is(pgflow.cascade_complete_taskless_steps(:'run'), 0, 'by both cascades');

select * from finish();
rollback;
