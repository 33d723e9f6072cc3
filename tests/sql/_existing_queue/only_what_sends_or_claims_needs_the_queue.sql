-- When somebody has dropped a flow's queue, everything that ends work or gives it back still does; what sends into the queue
-- or claims from it says so in words.
\ir ../../support/engine.psql
begin;
select plan(26);

-- a releases y; a and x fail the run, s is skipped. The queues of x, s and y are dropped.
select pgflow.ensure_flow_compiled('own', '{"options": {"maxAttempts": 2, "baseDelay": 0}, "steps": [
  {"slug": "a"}, {"slug": "b"}, {"slug": "x"}, {"slug": "s", "whenExhausted": "skip"}, {"slug": "y", "dependencies": ["a"]}]}', 'step') \g /dev/null
create function pg_temp.robbed() returns uuid language plpgsql as $$
declare
  v_run uuid := (select run_id from pgflow.start_flow('own', '{}'));
begin
  perform t.claim('own', step) from unnest(array['a', 'b', 'x', 's']) step;
  perform pgmq.drop_queue('own__' || step) from unnest(array['x', 's', 'y']) step;
  return v_run;
end $$;
create function pg_temp.item(p_run uuid, p_step text, p_more jsonb default '{}') returns jsonb language sql
as $$ select jsonb_build_array(jsonb_build_object('run_id', p_run, 'step_slug', p_step, 'task_index', 0, 'output', 1, 'error', 'e') || p_more) $$;
create function pg_temp.tasks() returns text language sql
as $$ select string_agg(step_slug || ' ' || status, ', ' order by step_slug) from pgflow.step_tasks $$;

savepoint before;
select pg_temp.robbed() as run \gset
select is((select status from pgflow.cancel_run(:'run')), 'failed', 'the run is cancelled');
select is(pg_temp.tasks(), 'a cancelled, b cancelled, s cancelled, x cancelled', 'with all its tasks');
select is((select count(*) from pgmq.a_own__a), 1::bigint, 'messages of the other queues are archived');
select is((select outcome from pgflow.complete_tasks(pg_temp.item(:'run', 'x'), t.worker())), 'late', 'a late completion');
select is((select outcome from pgflow.fail_tasks(pg_temp.item(:'run', 'x'), t.worker())), 'late', 'and a late failure are told so');
rollback to before;

select pg_temp.robbed() as run \gset
select is((select outcome from pgflow.fail_tasks(pg_temp.item(:'run', 'b', '{"permanent": true}'), t.worker())), 'applied', 'a sibling fails');
select is(pg_temp.tasks(), 'a cancelled, b failed, s cancelled, x cancelled', 'and ends the others');
rollback to before;

select pg_temp.robbed() as run \gset
select is((select outcome from pgflow.fail_tasks(pg_temp.item(:'run', 's', '{"permanent": true}'), t.worker())), 'applied', 'a task of the dropped queue fails');
select is(t.steps(:'run') ->> 's', 'skipped', 'by its policy');
select is((select outcome from pgflow.complete_tasks(pg_temp.item(:'run', 'x'), t.worker())), 'applied', 'another completes');
select is(t.steps(:'run') ->> 'x', 'completed', 'and ends its step');
rollback to before;

select pg_temp.robbed() as run \gset
select is((select outcome from pgflow.fail_tasks(pg_temp.item(:'run', 'x'), t.worker())), 'applied', 'one fails with an attempt left');
select is((select status from pgflow.step_tasks where step_slug = 'x'), 'queued', 'and waits for it');
select is(pgflow.release_tasks(t.worker()), 3, 'the others are released');
select is(pg_temp.tasks(), 'a queued, b queued, s queued, x queued', 'to queues that are there or not');
rollback to before;

select pg_temp.robbed() as run \gset
select is(pgflow.release_worker(t.worker(), 'dead', array(select message_id from pgflow.step_tasks)), 4, 'a dead worker is settled, guilty of all');
select is(pg_temp.tasks(), 'a queued, b queued, s queued, x queued', 'each has one more attempt');
rollback to before;

select pg_temp.robbed() as run \gset
select is(pgflow.release_worker(t.worker(), 'dead'), 4, 'or guilty of none');
rollback to before;

-- What needs the queue.
select pg_temp.robbed() as run \gset
select is(t.refusal($$ select pgflow.start_flow('own', '{}') $$), '42P01 pgflow_queue_missing', 'a run cannot start');
select is(
  t.refusal(format('select * from pgflow.complete_tasks(%L, t.worker())', pg_temp.item(:'run', 'a'))), '42P01 pgflow_queue_missing',
  'nor a step'
);
select is((select status from pgflow.step_tasks where step_slug = 'a'), 'started', 'whose parent stays in hand');
select is(
  t.refusal($$ select * from pgflow.read_and_claim('own__x', 'own', 'x', t.worker(), 1) $$), '42P01 pgflow_queue_missing',
  'nothing can be read'
);
select pgflow.release_tasks(t.worker()) \g /dev/null
select is(
  t.refusal($$ select * from pgflow.start_tasks('own', array(select message_id from pgflow.step_tasks), t.worker(), 'own__x', 'x') $$), '42P01 pgflow_queue_missing',
  'nor claimed'
);
select is(t.refusal($$ select pgflow.next_visible_at('own__x') $$), '42P01 pgflow_queue_missing', 'nor foreseen');
select is(t.refusal($$ select pgflow.set_vt_batch('own__x', array[1], array[1]) $$), '42P01 pgflow_queue_missing', 'nor postponed');
select is((select status from pgflow.cancel_run(:'run')), 'failed', 'the run can be ended, as the hint says');

select * from finish();
rollback;
