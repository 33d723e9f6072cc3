-- A fence stops a whole set of functions, survives restarts, and gives back the recorded states when its holder lifts it.
\ir ../../support/engine.psql
begin;
select plan(41);

create function pg_temp.id(n int) returns uuid language sql as $$ select ('00000000-0000-4000-9000-' || lpad(n::text, 12, '0'))::uuid $$;
create function pg_temp.enabled() returns text language sql
as $$ select string_agg(function_name || '=' || enabled, ' ' order by function_name) from pgflow.worker_functions $$;

select pgflow.create_flow('own') \g /dev/null
select pgflow.add_step('own', 's') \g /dev/null
select pgflow.start_flow('own', '{}') from generate_series(1, 4) \g /dev/null
select pgflow.register_worker(t.worker(9), 'own', 'a') \g /dev/null
select pgflow.track_worker_function('b', 'http') \g /dev/null
update pgflow.worker_functions set enabled = false where function_name = 'b';
select is((select count(*) from pgflow.read_and_claim('own', 'own', null, t.worker(9), 1)), 1::bigint, 'before the fence a task is claimed');

-- Up.
select results_eq(
  $$ select * from pgflow.fence_functions(pg_temp.id(1), 'secret', array['c', 'b', 'a', 'a', null], 'ops', 'deployment') $$,
  $$ values ('a', true), ('b', false), ('c', true) $$, 'a fence records the set as it was, unknown functions as enabled'
);
select is(pg_temp.enabled(), 'a=false b=false c=false', 'and disables all of it');
select is((select start_mode from pgflow.worker_functions where function_name = 'c'), 'process', 'a function nobody tracked is not pinged');
select is_empty($$ select * from pgflow.read_and_claim('own', 'own', null, t.worker(9), 1) $$, 'a fenced function gets no task');
select is((select count(*) from pgmq.q_own where read_ct = 0), 3::bigint, 'and leases no message');
select results_eq($$ select * from pgflow.heartbeat(t.worker(9)) $$, $$ values (false, false) $$, 'its worker hears of it');
select pgflow.register_worker(t.worker(8), 'own', 'a') \g /dev/null
select is(pg_temp.enabled(), 'a=false b=false c=false', 'a restart does not lift it');
select is_empty($$ select * from pgflow.read_and_claim('own', 'own', null, t.worker(8), 1) $$, 'a new worker gets no task either');
select isnt_empty($$ select * from pgflow.read_and_claim('own', 'own', null, t.worker(1), 1) $$, 'another function''s worker does');
select results_eq(
  $$ select * from pgflow.fence_functions(pg_temp.id(1), 'secret', array['a'], 'ops', 'deployment') $$,
  $$ values ('a', true), ('b', false), ('c', true) $$, 'asked again, it tells the same'
);
select is(t.refusal($$ select pgflow.fence_functions(pg_temp.id(1), 'guess', array['a'], 'x', 'x') $$), '42501 pgflow_fence_token', 'its id is its holder''s');
select is(t.refusal($$ select pgflow.fence_functions(pg_temp.id(2), 'x', '{}', 'x', 'x') $$), 'P0001 pgflow_fence_empty', 'an empty set is refused');
select is(t.refusal($$ select pgflow.fence_functions(pg_temp.id(2), 'x', null, 'x', 'x') $$), 'P0001 pgflow_fence_empty', 'no set too');
select is(t.refusal($$ select pgflow.fence_functions(pg_temp.id(2), null, array['a'], 'x', 'x') $$), '22023 pgflow_argument_invalid', 'a fence without a token is refused');
select ok(token_hash <> 'secret'::bytea and length(token_hash) = 32, 'the token itself is not kept') from pgflow.fences;

-- Drain.
select results_eq(
  $$ select function_name, enabled, is_fenced, live_workers, draining_workers, tasks_in_hand, drained
       from pgflow.drain_status(array['b', 'a', 'nobody']) $$,
  $$ values ('a', false, true, 2, 0, 1, false), ('b', false, true, 0, 0, 0, true), ('nobody', null, false, 0, 0, 0, true) $$,
  'live workers and their tasks are to be drained'
);
select pgflow.mark_worker_stopped(t.worker(8)) \g /dev/null
select is(pgflow.deprecate_workers(array['a', 'b']), 1, 'workers are told to finish');
select is(pgflow.deprecate_workers(array['a', 'b']), 0, 'once');
select results_eq($$ select * from pgflow.heartbeat(t.worker(9)) $$, $$ values (true, false) $$, 'they hear of it');
create function pg_temp.a() returns text language sql
as $$ select concat_ws(' ', live_workers, draining_workers, tasks_in_hand, drained) from pgflow.drain_status(array['a']) $$;
select is(pg_temp.a(), '0 1 1 f', 'a draining worker is not drained');
update pgflow.workers set last_heartbeat_at = now() - interval '7 s' where worker_id = t.worker(9);
select is(pg_temp.a(), '0 0 1 f', 'nor is one that is silent and holds a task');
update pgflow.step_tasks set permanently_stalled_at = clock_timestamp() where last_worker_id = t.worker(9);
select is(pg_temp.a(), '0 0 0 t', 'a task that has stalled for good is in nobody''s hand');
update pgflow.step_tasks set permanently_stalled_at = null where last_worker_id = t.worker(9);
select pgflow.complete_tasks(jsonb_agg(jsonb_build_object('run_id', run_id, 'step_slug', step_slug, 'task_index', task_index)))
  from pgflow.step_tasks where last_worker_id = t.worker(9) \g /dev/null
select is(pg_temp.a(), '0 0 0 t', 'a finished one as well');

-- A second fence around a part of the set, and the first lifted first.
select results_eq(
  $$ select * from pgflow.fence_functions(pg_temp.id(2), 'other', array['a', 'b', 'd'], 'someone', 'repair') $$,
  $$ values ('a', true), ('b', false), ('d', true) $$, 'a fence inside another records what was before both'
);
select is(t.refusal($$ select pgflow.unfence_functions(pg_temp.id(1), 'guess') $$), '42501 pgflow_fence_token', 'another token does not lift it');
select is(t.refusal($$ select pgflow.unfence_functions(pg_temp.id(1)) $$), '42501 pgflow_fence_token', 'nor none');
select is(t.refusal($$ select pgflow.unfence_functions(pg_temp.id(7), 'x') $$), 'P0002 pgflow_fence_unknown', 'there must be one');
select is(pg_temp.enabled(), 'a=false b=false c=false d=false', 'all of it is still fenced');
select results_eq(
  $$ select * from pgflow.unfence_functions(pg_temp.id(1), 'secret') $$,
  $$ values ('a', false, true), ('b', false, true), ('c', true, false) $$, 'lifted, only what no other fence holds is restored'
);
select is_empty($$ select * from pgflow.read_and_claim('own', 'own', null, t.worker(9), 1) $$, 'the rest still gets no task');
select results_eq(
  $$ select * from pgflow.unfence_functions(pg_temp.id(1), 'secret') $$,
  $$ values ('a', false, true), ('b', false, true), ('c', true, false) $$, 'lifted again, nothing changes'
);
select is(
  t.refusal($$ select pgflow.fence_functions(pg_temp.id(1), 'secret', array['a'], 'ops', 'again') $$), 'P0001 pgflow_fence_lifted',
  'a lifted fence does not come back'
);
select results_eq(
  $$ select * from pgflow.unfence_functions(pg_temp.id(2), forced_reason => 'owner on holiday') $$,
  $$ values ('a', true, false), ('b', false, false), ('d', true, false) $$, 'a reason lifts it without the token'
);
select is((select forced_reason from pgflow.fences where fence_id = pg_temp.id(2)), 'owner on holiday', 'and is kept');
select is(pg_temp.enabled(), 'a=true b=false c=true d=true', 'what was disabled before stays disabled');
select isnt_empty($$ select * from pgflow.read_and_claim('own', 'own', null, t.worker(9), 1) $$, 'work goes on');

-- The other order.
select pgflow.fence_functions(pg_temp.id(3), 'x', array['a'], 'x', 'x'), pgflow.fence_functions(pg_temp.id(4), 'x', array['a'], 'x', 'x') \g /dev/null
select pgflow.unfence_functions(pg_temp.id(4), 'x') \g /dev/null
select is(pg_temp.enabled(), 'a=false b=false c=true d=true', 'the inner one lifted first leaves the outer');
select pgflow.unfence_functions(pg_temp.id(3), 'x') \g /dev/null
select is(pg_temp.enabled(), 'a=true b=false c=true d=true', 'and then all is as before');
select is((select count(*) from pgflow.fences where lifted_at is not null), 4::bigint, 'all fences are remembered');
select is((select count(*) from pgflow.fenced_functions), 0::bigint, 'none stands');

select * from finish();
rollback;
