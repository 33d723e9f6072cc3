-- release_tasks gives a worker's tasks back: attempt refunded, message visible, no requeue counted.
\ir ../../support/engine.psql
begin;
select plan(10);

select pgflow.ensure_flow_compiled('own', '{"steps": [{"slug": "a", "dependencies": [], "stepType": "map"}]}', 'step') \g /dev/null
select run_id as run from pgflow.start_flow('own', '[0, 1, 2, 3]') \gset
select t.claim('own', 'a', 1, 3) \g /dev/null
select t.claim('own', 'a', 2) \g /dev/null

select is(pgflow.release_tasks(t.worker(1), array[2, 4]), 1, 'the given ones, as far as they are its own');
select results_eq(
  $$ select status, attempts_count, started_at, last_worker_id, requeued_count, crash_count from pgflow.step_tasks where task_index = 1 $$,
  $$ values ('queued', 0, null::timestamptz, null::uuid, 0, 0) $$, 'as if it had never been claimed'
);
select ok((select vt <= clock_timestamp() from pgmq.q_own__a where msg_id = 2), 'its message is visible now');
select is_empty('select t.broken()', 'all invariants hold');
select is(pgflow.release_tasks(t.worker(1)), 2, 'then all that are left');
select is(pgflow.release_tasks(t.worker(1)), 0, 'asked again there is nothing');
select is(pgflow.release_tasks(gen_random_uuid()), 0, 'nor has an unknown worker anything');
select results_eq(
  $$ select task_index, status from pgflow.step_tasks order by 1 $$,
  $$ values (0, 'queued'), (1, 'queued'), (2, 'queued'), (3, 'started') $$, 'the other worker keeps its task'
);
select is((select count(*) from t.claim('own', 'a', 2)), 3::bigint, 'they can be claimed at once');
select is_empty('select t.broken()', 'all invariants hold');

select * from finish();
rollback;
