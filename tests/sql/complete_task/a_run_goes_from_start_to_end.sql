-- A run goes through its steps in order, in both queue modes; late and unknown completions change nothing.
\ir ../../support/engine.psql
begin;
select plan(41);

-- A1: a chain of two on the flow's queue.
select pgflow.create_flow('chain') \g /dev/null
select pgflow.add_step('chain', 'a') \g /dev/null
select pgflow.add_step('chain', 'b', array['a']) \g /dev/null
select run_id as run from pgflow.start_flow('chain', '{"x": 1}') \gset

select is(t.steps(:'run'), '{"a": "started", "b": "created"}', 'the root starts at once');
select is(substr(:'run', 15, 1), '7', 'a run without an id gets a time-ordered one');
select results_eq(
  $$ select step_slug, input, task_index, flow_input from t.claim('chain') $$,
  $$ values ('a', '{}'::jsonb, 0, '{"x": 1}'::jsonb) $$, 'a root gets {} and the run''s input'
);
select results_eq(
  format($$ select status, attempts_count, last_worker_id, output from pgflow.complete_task(%L, 'a', 0, '{"y": 2}') $$, :'run'),
  $$ values ('completed', 1, t.worker(1), '{"y": 2}'::jsonb) $$, 'the completed row comes back'
);
select is_empty('select t.broken()', 'all invariants hold between the steps');
select results_eq(
  $$ select step_slug, input, flow_input from t.claim('chain') $$,
  $$ values ('b', '{"a": {"y": 2}}'::jsonb, null::jsonb) $$, 'a dependent gets its dependencies by name'
);
select results_eq(
  format($$ select status, completed_at is null, remaining_steps from pgflow.runs where run_id = %L $$, :'run'),
  $$ values ('started', true, 1) $$, 'one step is left'
);
select pgflow.complete_task(:'run', 'b', 0, '"done"') \g /dev/null
select results_eq(
  format($$ select status, output, completed_at is not null, remaining_steps from pgflow.runs where run_id = %L $$, :'run'),
  $$ values ('completed', '{"b": "done"}'::jsonb, true, 0) $$, 'the run ends with the output of its leaf'
);
select is(
  t.events(:'run'),
  array['run:started', 'step:a:started', 'step:a:completed', 'step:b:started', 'step:b:completed', 'run:completed'],
  'every transition was told once and in order'
);
select is((select count(*) from pgmq.a_chain), 2::bigint, 'both messages are archived');
select is_empty('select t.broken()', 'all invariants hold at the end');

-- What comes too late or is nobody's.
select results_eq(
  format($$ select status, output from pgflow.complete_task(%L, 'b', 0, '"again"') $$, :'run'),
  $$ values ('completed', '"done"'::jsonb) $$, 'a second completion returns the row unchanged'
);
select is_empty(format($$ select pgflow.complete_task(%L, 'b', 9, '1') $$, :'run'), 'an unknown task is no row');
select is_empty(format($$ select pgflow.complete_task(%L, 'nope', 0, '1') $$, :'run'), 'an unknown step is no row');
select is_empty($$ select pgflow.complete_task(gen_random_uuid(), 'b', 0, '1') $$, 'an unknown run is no row');
select is(cardinality(t.events(:'run')), 6, 'none of them told anything');

-- A queued task is not completed by anybody.
select run_id as run from pgflow.start_flow('chain', '{}') \gset
select results_eq(
  format($$ select status, attempts_count from pgflow.complete_task(%L, 'a', 0, '1') $$, :'run'),
  $$ values ('queued', 0) $$, 'a task that nobody claimed stays queued'
);
select is_empty('select t.broken()', 'and keeps its message');
select t.claim('chain') \g /dev/null
select pgflow.complete_task(:'run', 'a', 0, null) \g /dev/null
select results_eq(
  $$ select input from t.claim('chain') $$, $$ values ('{"a": null}'::jsonb) $$, 'a step may complete with SQL NULL'
);

-- Each step on a queue of its own.
select pgflow.ensure_flow_compiled('own', '{"steps": [
  {"slug": "a", "stepType": "single", "dependencies": []},
  {"slug": "b", "stepType": "single", "dependencies": ["a"]},
  {"slug": "c", "stepType": "single", "dependencies": ["a"], "options": {"startDelay": 60}},
  {"slug": "d", "stepType": "single", "dependencies": ["b", "c"]}
]}', 'step') \g /dev/null
select run_id as run from pgflow.start_flow('own', '{}') \gset
select is((select count(*) from pgmq.q_own__a), 1::bigint, 'the root''s message is on its route');
select t.claim('own', 'a') \g /dev/null
select pgflow.complete_task(:'run', 'a', 0, '1') \g /dev/null
select results_eq(
  $$ select message from pgmq.q_own__b $$,
  format($$ select '{"flow_slug": "own", "run_id": "%s", "step_slug": "b", "task_index": 0}'::jsonb $$, :'run'),
  'a message says which task it is'
);
select ok(
  (select vt between clock_timestamp() + interval '58 s' and clock_timestamp() + interval '60 s' from pgmq.q_own__c),
  'a start delay delays the message'
);
select is_empty('select t.broken()', 'all invariants hold with three queues');
select t.claim('own', 'b') \g /dev/null
select pgflow.complete_task(:'run', 'b', 0, '2') \g /dev/null
select is(t.steps(:'run')->>'d', 'created', 'a step waits for all its dependencies');
select pgmq.set_vt('own__c', 1, 0) \g /dev/null
select t.claim('own', 'c') \g /dev/null
select pgflow.complete_task(:'run', 'c', 0, '3') \g /dev/null
select results_eq(
  $$ select input from t.claim('own', 'd') $$, $$ values ('{"b": 2, "c": 3}'::jsonb) $$, 'the last one released it'
);
select pgflow.complete_task(:'run', 'd', 0, '4') \g /dev/null
select is((select output from pgflow.runs where run_id = :'run'), '{"d": 4}', 'the run completes');
select is_empty('select t.broken()', 'all invariants hold at the end');

-- A8: a single step that a map waits for must return an array.
select pgflow.create_flow('typed') \g /dev/null
select pgflow.add_step('typed', 'source', when_exhausted => 'skip') \g /dev/null
select pgflow.add_step('typed', 'm', array['source'], step_type => 'map') \g /dev/null
select pgflow.add_step('typed', 'other') \g /dev/null
select run_id as run from pgflow.start_flow('typed', '{}') \gset
select is(
  (select array[status, error_message] from pgflow.complete_task(:'run', 'source', 0, '{"no": "array"}')),
  array['queued', null], 'a stale completion of a queued task cannot violate anything'
);
select t.claim('typed') \g /dev/null
select results_eq(
  format($$ select status, output, error_message from pgflow.complete_task(%L, 'source', 0, '{"no": "array"}') $$, :'run'),
  $$ values ('failed', '{"no": "array"}'::jsonb, '[TYPE_VIOLATION] Produced object instead of array') $$,
  'the task fails with its output'
);
select results_eq(
  format($$ select status, error_message from pgflow.step_states where run_id = %L and step_slug = 'source' $$, :'run'),
  $$ values ('failed',
    '[TYPE_VIOLATION] Map step m expects array input but dependency source produced object') $$,
  'the step says which map it disappointed'
);
select is((select status from pgflow.runs where run_id = :'run'), 'failed', 'the run fails, whatever when_exhausted says');
select is(
  (select status from pgflow.step_tasks where run_id = :'run' and step_slug = 'other'), 'cancelled',
  'unrelated tasks are cancelled'
);
select is(
  t.events(:'run'),
  array['run:started', 'step:source:started', 'step:other:started', 'run:failed', 'step:source:failed'],
  'the run''s failure is told before the step''s'
);
select is((select count(*) from pgmq.q_typed), 0::bigint, 'no message is left');
select is_empty('select t.broken()', 'all invariants hold after the violation');
select run_id as run from pgflow.start_flow('typed', '{}') \gset
select t.claim('typed') \g /dev/null
select is(
  (select error_message from pgflow.complete_task(:'run', 'source', 0, null)),
  '[TYPE_VIOLATION] Produced null instead of array', 'SQL NULL is no array either'
);

-- A leftover message of a failed run goes with the late completion.
select message_id as id from pgflow.step_tasks where run_id = :'run' and step_slug = 'other' \gset
insert into pgmq.q_typed (msg_id, vt, message) overriding system value values (:id, now(), '{}');
delete from pgmq.a_typed where msg_id = :id;
select is(
  (select status from pgflow.complete_task(:'run', 'other', 0, '1')), 'cancelled', 'a late completion changes nothing'
);
select is((select count(*) from pgmq.a_typed where msg_id = :id), 1::bigint, 'but archives a leftover message');
insert into pgmq.q_typed (msg_id, vt, message) overriding system value values (:id, now(), '{}');
delete from pgmq.a_typed where msg_id = :id;
select pgflow.fail_task(:'run', 'other', 0, 'late') \g /dev/null
select is((select count(*) from pgmq.a_typed where msg_id = :id), 1::bigint, 'and so does a late failure');
select is((select status from pgflow.step_states where run_id = :'run' and step_slug = 'other'), 'started',
  'steps other than the culprit keep their status');
select is_empty('select t.broken()', 'all invariants hold');

select * from finish();
rollback;
