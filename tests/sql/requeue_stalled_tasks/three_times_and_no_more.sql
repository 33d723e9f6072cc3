-- A task whose worker is silent for timeout + 30 s goes back to its queue, three times; the fourth time it is put aside.
\ir ../../support/engine.psql
begin;
select plan(21);

select pgflow.create_flow('stall', timeout => 5) \g /dev/null
select pgflow.add_step('stall', 'a') \g /dev/null
select pgflow.add_step('stall', 'b', timeout => 60) \g /dev/null
select run_id as run from pgflow.start_flow('stall', '{}') \gset
select t.claim('stall') \g /dev/null
update pgflow.step_tasks set queued_at = now() - interval '1 h';

create function t.started_ago(p_step text, p_ago interval) returns void language sql as $$
  update pgflow.step_tasks set started_at = now() - p_ago where step_slug = p_step and status = 'started'
$$;

-- A13: the threshold is strict.
select t.started_ago('a', '34 s'), t.started_ago('b', '36 s') \g /dev/null
select is(pgflow.requeue_stalled_tasks(), 0, 'not before its own timeout + 30 s');
select t.started_ago('a', '35 s') \g /dev/null
select is(pgflow.requeue_stalled_tasks(), 0, 'nor exactly then');
select t.started_ago('a', '36 s') \g /dev/null
select is(pgflow.requeue_stalled_tasks(), 1, 'but after');
select results_eq(
  $$ select status, started_at, last_worker_id, attempts_count, requeued_count, last_requeued_at is not null
    from pgflow.step_tasks where step_slug = 'a' $$,
  $$ values ('queued', null::timestamptz, null::uuid, 1, 1, true) $$, 'its attempt is not refunded'
);
select ok((select vt <= clock_timestamp() from pgmq.q_stall where msg_id = 1), 'its message is visible');
select is((select status from pgflow.step_tasks where step_slug = 'b'), 'started', 'the slower step is left alone');
select is(cardinality(t.events(:'run')), 3, 'a requeue tells nothing');
select is_empty('select t.broken()', 'all invariants hold');
select is(pgflow.requeue_stalled_tasks(), 0, 'a second call finds nothing');

select t.claim('stall') \g /dev/null
select is((select attempts_count from pgflow.step_tasks where step_slug = 'a'), 2, 'the next claim costs one');
do $$ begin
  for i in 2..3 loop
    perform t.started_ago('a', '1 min');
    perform pgflow.requeue_stalled_tasks();
    perform t.claim('stall');
  end loop;
end $$;
-- A14: the fourth stall, and a completion after it.
select is((select requeued_count from pgflow.step_tasks where step_slug = 'a'), 3, 'three times it goes back');
select t.started_ago('a', '1 min') \g /dev/null
select is(pgflow.requeue_stalled_tasks(), 0, 'the fourth time it does not, although nothing else is requeued');
select results_eq(
  $$ select status, requeued_count, permanently_stalled_at is not null, attempts_count from pgflow.step_tasks where step_slug = 'a' $$,
  $$ values ('started', 3, true, 4) $$, 'it stays started and is marked'
);
select is((select count(*) from pgmq.a_stall where msg_id = 1), 1::bigint, 'its message is archived');
select is_empty('select t.broken()', 'all invariants hold');
select is(pgflow.requeue_stalled_tasks(), 0, 'it is not touched again');
select is((select status from pgflow.complete_task(:'run', 'a', 0, '1')), 'completed', 'a late completion still counts');
select is_empty('select t.broken()', 'all invariants hold');

-- Put aside there is no message to retry with: a late failure is final.
select run_id as run from pgflow.start_flow('stall', '{}') \gset
select t.claim('stall') \g /dev/null
update pgflow.step_tasks set queued_at = now() - interval '1 h', requeued_count = 3 where run_id = :'run';
update pgflow.step_tasks set started_at = now() - interval '40 s' where run_id = :'run' and step_slug = 'a';
select pgflow.requeue_stalled_tasks() \g /dev/null
select is((select status from pgflow.fail_task(:'run', 'a', 0, 'late')), 'failed', 'a late failure ends it');
select is((select status from pgflow.runs where run_id = :'run'), 'failed', 'and the run is no longer stuck');
select is_empty('select t.broken()', 'all invariants hold');

select * from finish();
rollback;
