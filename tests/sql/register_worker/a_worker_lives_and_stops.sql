-- A worker registers, beats and stops; repeating a call changes nothing; a fence survives; plain statements keep working.
\ir ../../support/engine.psql
begin;
select plan(26);

select pgflow.register_worker(t.worker(9), 'own__a', 'Own/a', 'process', 4711, 'host', 'r1') \g /dev/null
select results_eq(
  $$ select queue_name, function_name, pid, host_id, revision, stopped_at, deprecated_at from pgflow.workers where worker_id = t.worker(9) $$,
  $$ values ('own__a', 'Own/a', 4711, 'host', 'r1', null::timestamptz, null::timestamptz) $$, 'a worker is registered'
);
select results_eq(
  $$ select enabled, start_mode, debounce from pgflow.worker_functions where function_name = 'Own/a' $$,
  $$ values (true, 'process', interval '6 s') $$, 'its function is tracked'
);
select lives_ok($$ select pgflow.register_worker(t.worker(9), 'own__a', 'Own/a') $$, 'registered again');
select is((select pid from pgflow.workers where worker_id = t.worker(9)), 4711, 'nothing changes');
select results_eq($$ select * from pgflow.heartbeat(t.worker(9)) $$, $$ values (false, true) $$, 'it beats');
update pgflow.workers set last_heartbeat_at = now() - interval '1 h' where worker_id = t.worker(9);
select pgflow.heartbeat(t.worker(9)) \g /dev/null
select ok((select last_heartbeat_at > now() - interval '1 s' from pgflow.workers where worker_id = t.worker(9)), 'which is remembered');
update pgflow.worker_functions set enabled = false where function_name = 'Own/a';
update pgflow.workers set deprecated_at = now() where worker_id = t.worker(9);
select results_eq($$ select * from pgflow.heartbeat(t.worker(9)) $$, $$ values (true, false) $$, 'and told of a fence');
select pgflow.track_worker_function('Own/a', 'http') \g /dev/null
select results_eq(
  $$ select enabled, start_mode from pgflow.worker_functions where function_name = 'Own/a' $$,
  $$ values (false, 'http') $$, 'tracking never changes a fence'
);
select lives_ok($$ select pgflow.track_worker_function('Other') $$, 'a function may be tracked alone');
select is((select start_mode from pgflow.worker_functions where function_name = 'Other'), 'http', 'as http by default');
select throws_ok($$ select pgflow.track_worker_function('Bad', 'cron') $$, '23514', null, 'an unknown start mode is refused');
select pgflow.mark_worker_stopped(t.worker(9)) \g /dev/null
select is_empty($$ select pgflow.heartbeat(t.worker(9)) $$, 'a stopped worker''s heartbeat is not heard');
select isnt((select stopped_at from pgflow.workers where worker_id = t.worker(9)), null, 'it is stopped');
select pgflow.register_worker(t.worker(9), 'own__a', 'Own/a') \g /dev/null
select isnt((select stopped_at from pgflow.workers where worker_id = t.worker(9)), null, 'and registering does not revive it');
select lives_ok($$ select pgflow.mark_worker_stopped(gen_random_uuid()) $$, 'an unknown worker can be marked');
select is_empty($$ select pgflow.heartbeat(gen_random_uuid()) $$, 'but does not beat');

-- Upstream's workers write the table themselves.
insert into pgflow.workers (worker_id, queue_name, function_name) values (t.worker(8), 'own__b', 'untracked');
update pgflow.workers set last_heartbeat_at = now() where worker_id = t.worker(8);
select results_eq($$ select * from pgflow.heartbeat(t.worker(8)) $$, $$ values (false, true) $$, 'an untracked function counts as enabled');

-- Without extensions, maintenance is harmless.
select is_empty('select pgflow.ensure_workers()', 'without pg_net nobody is called');
select matches(pgflow.setup_requeue_stalled_tasks_cron(), 'pg_cron is not installed.*supervisor', 'without pg_cron a text says who does it');
select matches(pgflow.setup_ensure_workers_cron('5 seconds'), 'pgflow_ensure_workers.*pgflow_cleanup_logs', 'for each job');
select results_eq('select * from pgflow.cleanup_ensure_workers_logs()', $$ values (0::bigint) $$, 'and there is no log to clean');
select is_empty($$ select pgflow.poll_for_tasks('q', 1, 1) $$, 'the retired poll returns nothing');

-- Coverage counts live workers only.
select pgflow.ensure_flow_compiled('Own', '{"steps": [{"slug": "a", "dependencies": []}, {"slug": "b", "dependencies": []}]}', 'step') \g /dev/null
update pgflow.workers set stopped_at = null, deprecated_at = null, last_heartbeat_at = clock_timestamp() where worker_id = t.worker(8);
select results_eq(
  $$ select step_slug, live_workers, covered from pgflow.route_coverage('Own') $$, $$ values ('a', 0, false), ('b', 1, true) $$,
  'a stopped worker covers nothing, a live one its route'
);
insert into pgflow.workers (worker_id, queue_name, function_name) values (t.worker(7), 'own__b', 'untracked');
select is((select live_workers from pgflow.route_coverage('Own') where step_slug = 'b'), 2, 'two live ones are one covered route');
update pgflow.workers set deprecated_at = now() where worker_id = t.worker(8);
update pgflow.workers set last_heartbeat_at = now() - interval '7 s' where worker_id = t.worker(7);
select is((select live_workers from pgflow.route_coverage('Own') where step_slug = 'b'), 0, 'deprecated and silent ones are none');
select is((select covered from pgflow.route_coverage('Own') where step_slug = 'b'), false, 'and leave it uncovered');

select * from finish();
rollback;
