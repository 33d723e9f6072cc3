-- A failed attempt is retried later while attempts are left; then when_exhausted decides.
\ir ../../support/engine.psql
begin;
select plan(45);

-- Retry.
select pgflow.create_flow('retry', max_attempts => 2, base_delay => 5) \g /dev/null
select pgflow.add_step('retry', 'a') \g /dev/null
select run_id as run from pgflow.start_flow('retry', '{}') \gset
select vt as vt from pgmq.q_retry \gset
select is(
  (select array[status, attempts_count::text] from pgflow.fail_task(:'run', 'a', 0, 'stale')), array['queued', '0'],
  'a stale failure of a queued task changes nothing'
);
select is((select vt from pgmq.q_retry), :'vt', 'and does not delay its message');
select t.claim('retry') \g /dev/null
select results_eq(
  format($$ select status, attempts_count, started_at, error_message from pgflow.fail_task(%L, 'a', 0, 'first') $$, :'run'),
  $$ values ('queued', 1, null::timestamptz, 'first') $$, 'the task is queued again with its error'
);
select ok(
  (select vt between clock_timestamp() + interval '9 s' and clock_timestamp() + interval '10 s' from pgmq.q_retry),
  'the message is delayed by 5 * 2^1 seconds'
);
select is_empty('select t.broken()', 'all invariants hold');
select is(cardinality(t.events(:'run')), 2, 'a retry tells nothing');
select pgmq.set_vt('retry', 1, 0) \g /dev/null
select t.claim('retry') \g /dev/null
select results_eq(
  format($$ select status, attempts_count, failed_at is not null, error_message from pgflow.fail_task(%L, 'a', 0, 'second') $$, :'run'),
  $$ values ('failed', 2, true, 'second') $$, 'the last attempt is final'
);
select is(
  t.events(:'run'), array['run:started', 'step:a:started', 'step:a:failed', 'run:failed'], 'the step fails before the run'
);
select is(
  (select payload->>'error_message' from pgflow.event_log where run_id = :'run' and event = 'run:failed'), 'second',
  'the run''s event carries the error'
);
select is_empty('select t.broken()', 'all invariants hold');
select is_empty($$ select pgflow.fail_task(gen_random_uuid(), 'a', 0, 'x') $$, 'an unknown task is no row');
select is((select status from pgflow.fail_task(:'run', 'a', 0, 'again')), 'failed', 'a failed task stays failed');

-- 0 attempts behave as one; a step's options outweigh its flow's.
select pgflow.create_flow('zero', max_attempts => 0) \g /dev/null
select pgflow.add_step('zero', 'a') \g /dev/null
select pgflow.add_step('zero', 'b', max_attempts => 2, base_delay => 100) \g /dev/null
select run_id as run from pgflow.start_flow('zero', '{}') \gset
select t.claim('zero') \g /dev/null
select is((select status from pgflow.fail_task(:'run', 'b', 0, 'x')), 'queued', 'the step allows a second attempt');
select ok(
  (select vt > clock_timestamp() + interval '199 s' from pgmq.q_zero where msg_id = 2), 'after its own delay'
);
select is((select status from pgflow.fail_task(:'run', 'a', 0, 'x')), 'failed', 'max_attempts 0 allows one');
select is_empty('select t.broken()', 'all invariants hold');

-- A3: fail: two roots, one fails.
select pgflow.create_flow('pair', max_attempts => 1) \g /dev/null
select pgflow.add_step('pair', 'a') \g /dev/null
select pgflow.add_step('pair', 'b') \g /dev/null
select run_id as run from pgflow.start_flow('pair', '{}') \gset
select t.claim('pair') \g /dev/null
select pgflow.fail_task(:'run', 'a', 0, 'x') \g /dev/null
select results_eq(
  format($$ select step_slug, status from pgflow.step_tasks where run_id = %L order by 1 $$, :'run'),
  $$ values ('a', 'failed'), ('b', 'cancelled') $$, 'the other root''s task is cancelled'
);
select is(t.steps(:'run'), '{"a": "failed", "b": "started"}', 'its step stays started');
select is((select remaining_steps from pgflow.runs where run_id = :'run'), 2, 'no step is counted off');
select is((select count(*) from pgmq.q_pair), 0::bigint, 'the queue is empty');
select is((select count(*) from pgmq.a_pair), 2::bigint, 'both messages are archived');
select is_empty('select t.broken()', 'all invariants hold');

-- A4: skip: dependents go on without it.
select pgflow.create_flow('skip', max_attempts => 1) \g /dev/null
select pgflow.add_step('skip', 'a', when_exhausted => 'skip') \g /dev/null
select pgflow.add_step('skip', 'm', array['a'], step_type => 'map') \g /dev/null
select pgflow.add_step('skip', 's', array['a']) \g /dev/null
select run_id as run from pgflow.start_flow('skip', '{}') \gset
select t.claim('skip') \g /dev/null
select pgflow.fail_task(:'run', 'a', 0, 'boom') \g /dev/null
select results_eq(
  format($$ select status, skip_reason, error_message, remaining_tasks from pgflow.step_states
    where run_id = %L and step_slug = 'a' $$, :'run'),
  $$ values ('skipped', 'handler_failed', 'boom', null::int) $$, 'the step is skipped and keeps the error'
);
select is(t.steps(:'run'), '{"a": "skipped", "m": "completed", "s": "started"}', 'its dependents go on');
select is((select output from pgflow.step_states where run_id = :'run' and step_slug = 'm'), '[]', 'a map with no elements');
select results_eq($$ select input from t.claim('skip') $$, $$ values ('{}'::jsonb) $$, 'a single with an empty input');
select is(
  (select payload->'error_message' from pgflow.event_log where run_id = :'run' and event = 'step:a:skipped'), '"boom"',
  'the event carries the error'
);
select is((select status from pgflow.step_tasks where run_id = :'run' and step_slug = 'a'), 'failed', 'the task is failed');
select is_empty('select t.broken()', 'all invariants hold');
select pgflow.complete_task(:'run', 's', 0, '1') \g /dev/null
select is((select output from pgflow.runs where run_id = :'run'), '{"m": [], "s": 1}', 'the run completes');

-- A5: skip-cascade: everything behind it is skipped, on three queues.
select pgflow.ensure_flow_compiled('cascade', '{"options": {"maxAttempts": 1}, "steps": [
  {"slug": "a", "dependencies": [], "whenExhausted": "skip-cascade"},
  {"slug": "b", "dependencies": ["a"]}, {"slug": "c", "dependencies": ["b"]}]}', 'step') \g /dev/null
select run_id as run from pgflow.start_flow('cascade', '{}') \gset
select t.claim('cascade', 'a') \g /dev/null
select pgflow.fail_task(:'run', 'a', 0, 'boom') \g /dev/null
select is(
  (select jsonb_object_agg(step_slug, skip_reason) from pgflow.step_states where run_id = :'run' and status = 'skipped'),
  '{"a": "handler_failed", "b": "dependency_skipped", "c": "dependency_skipped"}', 'all three are skipped'
);
select results_eq(
  format($$ select status, output from pgflow.runs where run_id = %L $$, :'run'), $$ values ('completed', null::jsonb) $$,
  'the run completes with nothing'
);
select is(
  t.events(:'run'), array['run:started', 'step:a:started', 'step:a:skipped', 'step:b:skipped', 'step:c:skipped',
    'run:completed'], 'each skip is told, the run last'
);
select is_empty('select t.broken()', 'all invariants hold');

-- Forced by hand: tasks on several queues are skipped and archived.
select pgflow.ensure_flow_compiled('force', '{"steps": [
  {"slug": "a", "dependencies": []}, {"slug": "b", "dependencies": []}, {"slug": "c", "dependencies": ["a", "b"]}]}',
  'step') \g /dev/null
select run_id as run from pgflow.start_flow('force', '{}') \gset
select is(pgflow._cascade_force_skip_steps(:'run', 'a', 'handler_failed'), 2, 'the step and its dependent');
select is(t.steps(:'run'), '{"a": "skipped", "b": "started", "c": "skipped"}', 'and no other');
select is((select count(*) from pgmq.a_force__a), 1::bigint, 'its message is archived on its own queue');
select is(pgflow._cascade_force_skip_steps(:'run', 'a', 'handler_failed'), 0, 'asked again nothing happens');
select is((select remaining_steps from pgflow.runs where run_id = :'run'), 1, 'the run counted them once');
select is_empty('select t.broken()', 'all invariants hold');
select throws_ok(
  $$ select pgflow._cascade_force_skip_steps('11111111-1111-1111-1111-111111111111', 'a', 'x') $$,
  'Run 11111111-1111-1111-1111-111111111111 does not exist.', 'an unknown run is refused'
);

-- A25: the delay saturates.
select results_eq(
  $$ select pgflow.calculate_retry_delay(5, n) from unnest(array[0, 1, 3, 28, 29, 40, 100000]) n $$,
  $$ values (5), (10), (40), (1342177280), (2147483647), (2147483647), (2147483647) $$, 'a delay beyond int is its maximum'
);
select pgflow.create_flow('patient', max_attempts => 50, base_delay => 5) \g /dev/null
select pgflow.add_step('patient', 'a') \g /dev/null
select run_id as run from pgflow.start_flow('patient', '{}') \gset
update pgflow.step_tasks set attempts_count = 39 where run_id = :'run';
truncate t.illegal;
select t.claim('patient') \g /dev/null
select is((select status from pgflow.fail_task(:'run', 'a', 0, 'x')), 'queued', 'the fortieth attempt may fail');
select ok(
  (select vt > clock_timestamp() + interval '2147483640 s' from pgmq.q_patient), 'and waits for as long as an int can say'
);
select is_empty('select t.broken()', 'all invariants hold');

select * from finish();
rollback;
