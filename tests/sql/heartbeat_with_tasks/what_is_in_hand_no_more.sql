-- heartbeat_with_tasks answers as heartbeat does, and tells which of the attempts asked about the worker does not hold.
\ir ../../support/engine.psql
begin;
select plan(14);

create function t.beat(n int, msg_ids bigint[] default '{1,2,3,4}', attempts int[] default '{1,1,1,1}') returns int[]
  language sql as $$ select lost_positions from pgflow.heartbeat_with_tasks(t.worker(n), msg_ids, attempts) $$;

select pgflow.ensure_flow_compiled('own', '{"steps": [{"slug": "a", "dependencies": [], "stepType": "map"}]}', 'step') \g /dev/null
select run_id as run from pgflow.start_flow('own', '[0, 1, 2, 3]') \gset
select t.claim('own', 'a', 1, 3) \g /dev/null

select is(t.beat(1), '{4}'::int[], 'what it claimed is in hand, what waits is not');
select is(t.beat(1, '{3,1}', '{1,1}'), '{}'::int[], 'in any order');
select is(t.beat(1, '{}', '{}'), '{}'::int[], 'nothing asked, nothing answered');
select is(t.beat(1, '{1,1,99}', '{1,2,1}'), '{2,3}'::int[], 'another attempt is not in hand, nor an unknown message');
select is(t.beat(2), '{1,2,3,4}'::int[], 'what another worker holds is not in hand');

select pgflow.complete_task(:'run', 'a', 0, '1') \g /dev/null
select is(t.beat(1), '{1,4}'::int[], 'what is completed is not');
select pgflow.release_tasks(t.worker(1), array[2]) \g /dev/null
select is(t.beat(1), '{1,2,4}'::int[], 'nor what was given back');
select t.claim('own', 'a', 2) \g /dev/null
select is(t.beat(1), '{1,2,4}'::int[], 'nor what somebody else has claimed since');
select pgflow.cancel_run(:'run') \g /dev/null
select is(t.beat(1), '{1,2,3,4}'::int[], 'nor anything of a cancelled run');

update pgflow.workers set last_heartbeat_at = now() - interval '1 h', deprecated_at = now() where worker_id = t.worker(1);
select results_eq(
  $$ select is_known, is_deprecated, function_enabled from pgflow.heartbeat_with_tasks(t.worker(1), '{}', '{}') $$,
  $$ values (true, true, true) $$, 'it is told of its deprecation'
);
select ok((select last_heartbeat_at > now() - interval '1 s' from pgflow.workers where worker_id = t.worker(1)), 'and has been heard');

-- A worker that was declared dead hears of its tasks too.
select run_id as run from pgflow.start_flow('own', '[0]') \gset
select t.claim('own', 'a', 2) \g /dev/null
select is(t.beat(2, '{5}', '{1}'), '{}'::int[], 'a task is in hand');
select pgflow.release_worker(t.worker(2), 'dead') \g /dev/null
select results_eq(
  $$ select * from pgflow.heartbeat_with_tasks(t.worker(2), '{5}', '{1}') $$,
  $$ values (false, null::boolean, null::boolean, '{1}'::int[]) $$, 'until its worker is released'
);
select results_eq(
  $$ select is_known, lost_positions from pgflow.heartbeat_with_tasks(gen_random_uuid(), '{5}', '{1}') $$,
  $$ values (false, '{1}'::int[]) $$, 'an unknown worker holds nothing'
);

select * from finish();
rollback;
