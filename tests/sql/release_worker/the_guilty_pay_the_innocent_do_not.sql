-- A dead worker's guilty task fails an attempt, its other tasks go back as if they had never been claimed.
\ir ../../support/engine.psql
begin;
select plan(19);

select pgflow.ensure_flow_compiled('own', '{"options": {"maxAttempts": 2}, "steps": [{"slug": "a", "dependencies": [], "stepType": "map"}]}', 'step') \g /dev/null
select run_id as run from pgflow.start_flow('own', '[0, 1, 2, 3]') \gset
select t.claim('own', 'a', 1, 3) \g /dev/null
select t.claim('own', 'a', 2) \g /dev/null

select is(pgflow.release_worker(t.worker(1), 'killed by signal 11', array[2, 4]), 3, 'one failed, two given back');
select results_eq(
  $$ select task_index, status, attempts_count, crash_count, requeued_count, error_message from pgflow.step_tasks order by 1 $$,
  $$ values (0, 'queued', 0, 0, 0, null), (1, 'queued', 1, 1, 0, 'killed by signal 11'), (2, 'queued', 0, 0, 0, null),
    (3, 'started', 1, 0, 0, null) $$,
  'only its own tasks change, and only the guilty one pays'
);
select is(
  (select array_agg(msg_id order by msg_id) from pgmq.q_own__a where vt <= clock_timestamp()), array[1, 3]::bigint[],
  'the innocent are visible now, the guilty one waits for its retry'
);
select isnt((select stopped_at from pgflow.workers where worker_id = t.worker(1)), null, 'the worker is stopped');
select stopped_at as stopped from pgflow.workers where worker_id = t.worker(1) \gset
select is_empty('select t.broken()', 'all invariants hold');

select is(pgflow.release_worker(t.worker(1), 'again', array[2]), 0, 'asked again it does nothing');
select is((select stopped_at from pgflow.workers where worker_id = t.worker(1)), :'stopped', 'the time of the stop stays');
select is((select crash_count from pgflow.step_tasks where task_index = 1), 1, 'and the crash counts once');
select is(pgflow.release_worker(gen_random_uuid(), 'never registered'), 0, 'an unknown worker has nothing');

-- The last attempt: the step's policy decides, the dead worker's other tasks of the run are cancelled with it.
select pgmq.set_vt('own__a', 2, 0) \g /dev/null
select t.claim('own', 'a', 3) \g /dev/null
select is(pgflow.release_worker(t.worker(3), 'killed by signal 9', array[2]), 1, 'the guilty one is the last to be settled');
select is((select status from pgflow.runs where run_id = :'run'), 'failed', 'the run fails');
select results_eq(
  $$ select task_index, status, error_message from pgflow.step_tasks order by 1 $$,
  $$ values (0, 'cancelled', null), (1, 'failed', 'killed by signal 9'), (2, 'cancelled', null), (3, 'cancelled', null) $$,
  'everything else is cancelled'
);
select is((select count(*) from pgmq.q_own__a), 0::bigint, 'no message is left');
select is_empty('select t.broken()', 'all invariants hold');

-- A task put aside for good is not revived, a stopped worker claims nothing more.
select pgflow.create_flow('aside') \g /dev/null
select pgflow.add_step('aside', 'a') \g /dev/null
select run_id as run from pgflow.start_flow('aside', '{}') \gset
select t.claim('aside', null, 4) \g /dev/null
update pgflow.step_tasks set queued_at = now() - interval '1 h', requeued_count = 3 where run_id = :'run';
update pgflow.step_tasks set started_at = now() - interval '1 h' where run_id = :'run';
select pgflow.requeue_stalled_tasks() \g /dev/null
select is(pgflow.release_worker(t.worker(4), 'gone', array[1]), 0, 'a permanently stalled task is left alone');
select is((select status from pgflow.step_tasks where run_id = :'run'), 'started', 'as it was');
select is_empty($$ select pgflow.heartbeat(t.worker(4)) $$, 'a released worker''s heartbeat is not heard');
select is_empty($$ select pgflow.read_and_claim('aside', 'aside', null, t.worker(4), 1) $$, 'and it reads nothing');
select is_empty('select t.broken()', 'all invariants hold');

select * from finish();
rollback;
