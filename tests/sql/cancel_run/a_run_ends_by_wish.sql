-- cancel_run fails a run, cancels what is unfinished on every queue, tells it once, and leaves what is finished alone.
\ir ../../support/engine.psql
begin;
select plan(23);

select pgflow.ensure_flow_compiled('own', '{"steps": [
  {"slug": "a", "dependencies": []}, {"slug": "b", "dependencies": [], "stepType": "single"},
  {"slug": "c", "dependencies": ["a"]}, {"slug": "d", "dependencies": ["a", "b"]}]}', 'step') \g /dev/null
select run_id as run from pgflow.start_flow('own', '{}') \gset
select run_id as other from pgflow.start_flow('own', '{}') \gset
select t.claim('own', 'a') \g /dev/null
select pgflow.complete_task(:'run', 'a', 0, '1') \g /dev/null
select t.claim('own', 'b', 1, 1) \g /dev/null
select pgflow.fail_task(:'run', 'b', 0, 'once') \g /dev/null

select is((select status from pgflow.cancel_run(:'run', 'cancelled by ann')), 'failed', 'the run is failed');
select isnt((select failed_at from pgflow.runs where run_id = :'run'), null, 'now');
select results_eq(
  format($$ select step_slug, status, error_message from pgflow.step_tasks where run_id = %L order by 1 $$, :'run'),
  $$ values ('a', 'completed', null), ('b', 'cancelled', 'cancelled by ann'), ('c', 'cancelled', 'cancelled by ann') $$,
  'unfinished tasks are cancelled for the reason'
);
select is(t.steps(:'run'), '{"a": "completed", "b": "started", "c": "started", "d": "created"}', 'steps keep their status');
select is((select remaining_steps from pgflow.runs where run_id = :'run'), 3, 'and are counted as before');
select is((select count(*) from pgmq.a_own__b) + (select count(*) from pgmq.a_own__c), 2::bigint, 'messages are archived on every queue');
select is((t.events(:'run'))[array_length(t.events(:'run'), 1)], 'run:failed', 'run:failed is told last');
select is(
  (select payload - 'failed_at' from pgflow.event_log where run_id = :'run' and event = 'run:failed'),
  jsonb_build_object('event_type', 'run:failed', 'run_id', :'run', 'flow_slug', 'own', 'status', 'failed', 'error_message', 'cancelled by ann'),
  'with the reason'
);
select is_empty('select t.broken()', 'all invariants hold');

create temp table before as select * from pgflow.runs where run_id = :'run';
select count(*) as told from pgflow.event_log \gset
select results_eq(format($$ select * from pgflow.cancel_run(%L, 'again') $$, :'run'), 'select * from before', 'asked again, the run is as it was');
select is((select count(*) from pgflow.event_log), :told::bigint, 'and nothing is told');
select is((select error_message from pgflow.step_tasks where run_id = :'run' and step_slug = 'c'), 'cancelled by ann', 'nor changed');
select is_empty($$ select pgflow.cancel_run(gen_random_uuid(), 'x') $$, 'an unknown run is none');
select is((select status from pgflow.runs where run_id = :'other'), 'started', 'another run goes on');

-- What comes late changes nothing.
select is((select status from pgflow.complete_task(:'run', 'c', 0, '1')), 'cancelled', 'a late completion');
select is((select status from pgflow.fail_task(:'run', 'b', 0, 'late')), 'cancelled', 'or failure comes too late');
select is_empty(format($$ select from pgflow.requeue_stalled_tasks() n where n > 0 $$), 'nothing is recovered');

-- A task in hand, one that has stalled for good, and a run that is over.
select t.claim('own', 'a') \g /dev/null
select t.claim('own', 'b') \g /dev/null
update pgflow.step_tasks set queued_at = now() - interval '1 h', started_at = now() - interval '1 h',
    requeued_count = 3, last_worker_id = t.worker() where run_id = :'other' and step_slug = 'b';
select pgflow.requeue_stalled_tasks() \g /dev/null
select isnt((select permanently_stalled_at from pgflow.step_tasks where run_id = :'other' and step_slug = 'b'), null, 'stalled for good');
select is((select status from pgflow.cancel_run(run_id => :'other')), 'failed', 'a run with stalled tasks can be cancelled');
select results_eq(
  format($$ select step_slug, status, error_message from pgflow.step_tasks where run_id = %L order by 1 $$, :'other'),
  $$ values ('a', 'cancelled', 'cancelled'), ('b', 'cancelled', 'cancelled') $$, 'with all its tasks'
);
select is_empty('select t.broken()', 'all invariants hold');
select pgflow.create_flow('empty') \g /dev/null
select run_id as done from pgflow.start_flow('empty', '{}') \gset
select is((select status from pgflow.cancel_run(:'done', 'x')), 'completed', 'a completed run stays completed');
select is((select failed_at from pgflow.runs where run_id = :'done'), null, 'whatever is wished');

select * from finish();
rollback;
