-- read_and_claim says of every message it read whether its task is ours, and if not why.
\ir ../../support/engine.psql
begin;
select plan(22);

select pgflow.ensure_flow_compiled('own', '{"options": {"maxAttempts": 4, "timeout": 20}, "steps": [
  {"slug": "a", "dependencies": [], "stepType": "map"}, {"slug": "b", "dependencies": ["a"]}]}', 'step') \g /dev/null
create function t.take(p_qty int default 100, p_step text default 'a', p_worker int default 1, p_input boolean default false)
returns table (msg_id bigint, outcome text, run_id uuid, step_slug text, task_index int, attempt int, max_attempts int,
  timeout_seconds int, input jsonb, flow_input jsonb) language sql
as $$ select * from pgflow.read_and_claim('own__' || p_step, 'own', p_step, t.worker(p_worker), p_qty, p_input) $$;

select is_empty('select t.take()', 'an empty queue is no row');
select run_id as run from pgflow.start_flow('own', '["x", "y", "z", "w"]') \gset
select is_empty('select t.take(0)', 'nothing asked for is nothing read');
select is((select max(read_ct) from pgmq.q_own__a), 0, 'nor hidden');
select results_eq(
  'select * from t.take(2)',
  format($$ values (1::bigint, 'claimed', %1$L::uuid, 'a', 0, 1, 4, 20, '"x"'::jsonb, null::jsonb),
    (2, 'claimed', %1$L, 'a', 1, 1, 4, 20, '"y"', null) $$, :'run'),
  'a claimed row carries all a worker needs'
);
select results_eq(
  $$ select vt between clock_timestamp() + interval '21 s' and clock_timestamp() + interval '22 s', read_ct from pgmq.q_own__a where msg_id <= 2 $$,
  $$ values (true, 1), (true, 1) $$, 'its message is hidden for timeout + 2 s, read once'
);
select results_eq(
  'select msg_id, input, flow_input from t.take(1, p_input => true)',
  $$ values (3::bigint, '"z"'::jsonb, '["x", "y", "z", "w"]'::jsonb) $$, 'the run''s input comes along when asked for'
);
select is_empty('select t.broken()', 'all invariants hold');

-- 1 started, 2 final with its message left behind, 4 queued, a stranger's message, another step's.
select pgflow.complete_task(:'run', 'a', 1, '0') \g /dev/null
insert into pgmq.q_own__a (msg_id, vt, message) overriding system value values (2, now(), '{}');
select pgmq.set_vt('own__a', 1, 0) \g /dev/null
select pgmq.send('own__a', '{"stranger": true}') as stranger \gset
insert into pgflow.step_states (flow_slug, run_id, step_slug, status, initial_tasks, remaining_tasks)
  select 'own', :'run', 'b', 'started', 1, 1 on conflict (run_id, step_slug) do update set status = 'started', remaining_tasks = 1;
insert into pgflow.step_tasks (flow_slug, run_id, step_slug, queue_name, message_id) values ('own', :'run', 'b', 'own__a', 50);
insert into pgmq.q_own__a (msg_id, vt, message) overriding system value values (50, now(), '{}');
select results_eq(
  'select msg_id, outcome, run_id is null from t.take()',
  format($$ values (1::bigint, 'started', true), (2, 'final', true), (4, 'claimed', false), (%s, 'unknown', true), (50, 'foreign', true) $$, :stranger),
  'each message has its outcome'
);
select results_eq(
  format($$ select task_index, attempts_count, status from pgflow.step_tasks where run_id = %L and step_slug = 'a' order by 1 $$, :'run'),
  $$ values (0, 1, 'started'), (1, 1, 'completed'), (2, 1, 'started'), (3, 1, 'started') $$, 'only the claimed one has changed'
);
select is((select status from pgflow.step_tasks where step_slug = 'b'), 'queued', 'another step''s task is left alone');

-- Selectors are those of start_tasks.
select is(t.refusal($$ select pgflow.read_and_claim('own__a', 'own', null, t.worker(), 1) $$), 'P0001 pgflow_selector_required', 'a step is needed');
select is(t.refusal($$ select pgflow.read_and_claim('own__b', 'own', 'a', t.worker(), 1) $$), 'P0001 pgflow_selector_route', 'on its queue');
select is_empty($$ select pgflow.read_and_claim('own__a', 'nope', 'a', t.worker(), 1) $$, 'an unknown flow reads nothing');
select run_id as run from pgflow.start_flow('own', '[1]') \gset
select is(
  t.refusal($$ select pgflow.read_and_claim('own__a', 'own', 'a', gen_random_uuid(), 1) $$),
  '23503 step_tasks_last_worker_id_fkey', 'an unknown worker is refused'
);
select pgflow.mark_worker_stopped(t.worker(3)) \g /dev/null
select is_empty('select t.take(p_worker => 3)', 'a stopped worker reads nothing');
select is((select count(*) from t.take()), 1::bigint, 'the message was not even leased');

-- Flow mode: several timeouts behind one queue.
select pgflow.create_flow('shared', timeout => 10) \g /dev/null
select pgflow.add_step('shared', 'a') \g /dev/null
select pgflow.add_step('shared', 'slow', timeout => 100) \g /dev/null
select run_id as run from pgflow.start_flow('shared', '{"k": 1}') \gset
select results_eq(
  $$ select step_slug, outcome, timeout_seconds, input, flow_input from pgflow.read_and_claim('shared', 'shared', null, t.worker(), 10) $$,
  $$ values ('a', 'claimed', 10, '{}'::jsonb, '{"k": 1}'::jsonb), ('slow', 'claimed', 100, '{}', '{"k": 1}') $$,
  'a root single gets the run''s input'
);
select results_eq(
  $$ select vt - clock_timestamp() between interval '11 s' and interval '12 s', vt - clock_timestamp() between interval '101 s' and interval '102 s'
    from pgmq.q_shared order by msg_id $$,
  $$ values (true, false), (false, true) $$, 'each message is hidden for its own step''s timeout'
);
select is(t.refusal($$ select pgflow.read_and_claim('shared', 'shared', 'a', t.worker(), 1) $$), 'P0001 pgflow_selector_forbidden', 'no step');
select is_empty($$ select pgflow.read_and_claim('Shared', 'shared', null, t.worker(), 1) $$, 'the exact queue only');

-- An empty flow has nothing to claim.
select pgflow.create_flow('bare') \g /dev/null
select pgmq.send('bare', '{}') \g /dev/null
select results_eq(
  $$ select outcome from pgflow.read_and_claim('bare', 'bare', null, t.worker(), 1) $$, $$ values ('unknown') $$,
  'on the queue of a flow without steps everything is unknown'
);
select is_empty($$ select pgflow.start_tasks('bare', '{1}', t.worker(), 'bare') $$, 'and nothing is claimed');

select * from finish();
rollback;
