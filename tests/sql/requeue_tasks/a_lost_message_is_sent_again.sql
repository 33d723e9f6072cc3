-- A queued task whose message somebody purged, deleted or archived, or whose queue was dropped, is listed and can be sent again.
\ir ../../support/engine.psql
begin;
select plan(33);

select pgflow.ensure_flow_compiled('own', '{"options": {"baseDelay": 100}, "steps": [{"slug": "m", "stepType": "map"}, {"slug": "x"}, {"slug": "z", "options": {"startDelay": 60}}]}', 'step') \g /dev/null
select run_id as run from pgflow.start_flow('own', '[0, 1, 2]') \gset
select run_id as other from pgflow.start_flow('own', '[]') \gset
create function pg_temp.lost(p_flow text default null) returns text language sql as $$
  select string_agg(format('%s[%s]', step_slug, task_index), ' ' order by step_slug, task_index) from pgflow.stalled_tasks(p_flow)
    where stalled_at is null
$$;
create function pg_temp.outcomes(p_step text, variadic p_indexes int[]) returns text[] language sql as $$
  select array_agg(answer.outcome)
    from pgflow.requeue_tasks((
      select jsonb_agg(jsonb_build_object('run_id', r.run_id, 'step_slug', p_step, 'task_index', i) order by i)
        from (select run_id from pgflow.runs where input <> '[]') r, unnest(p_indexes) i
    )) answer
$$;

select is(pg_temp.lost(), null, 'as long as nobody touches the queues nothing is lost');
select is(pg_temp.outcomes('m', 0, 1), array['already', 'already'], 'nor sent again');

-- Purged, archived and deleted by hand; one task is in hand.
select t.claim('own', 'm', 1, 1) \g /dev/null
select pgmq.purge_queue('own__m'), pgmq.archive('own__x', array(select msg_id from pgmq.q_own__x)) \g /dev/null
select is(pg_temp.lost(), 'm[1] m[2] x[0] x[0]', 'queued tasks without a message are listed');
select is(pg_temp.lost('own'), 'm[1] m[2] x[0] x[0]', 'of this flow');
select is(pg_temp.lost('Own'), null, 'and none of another');
select is(pg_temp.outcomes('m', 0, 1, 2), array['already', 'applied', 'applied'], 'they are sent again, what is in hand is not');
select is((select string_agg(msg_id || ': ' || (message ->> 'task_index'), ', ' order by msg_id) from pgmq.q_own__m), '4: 1, 5: 2', 'under new messages');
select results_eq(
  $$ select task_index, status, message_id, attempts_count from pgflow.step_tasks where step_slug = 'm' order by 1 $$,
  $$ values (0, 'started', 1::bigint, 1), (1, 'queued', 4, 0), (2, 'queued', 5, 0) $$, 'which are theirs'
);
select is(pg_temp.outcomes('m', 1, 2), array['already', 'already'], 'asked again, it is done');
select is(pg_temp.outcomes('x', 0, 0), array['applied', 'applied'], 'asked twice in one call, it is done once');
select is((select count(*) from pgmq.q_own__x), 1::bigint, 'with one message');
select is((select count(*) from t.claim('own', 'm')), 2::bigint, 'a worker gets them');

-- What goes back to a queue without its message is lost then.
select pgmq.delete('own__m', array(select msg_id from pgmq.q_own__m)) \g /dev/null
select is(pg_temp.lost(), 'x[0]', 'what is in hand needs no message');
select is((select outcome from pgflow.complete_tasks(jsonb_build_array(jsonb_build_object('run_id', :'run', 'step_slug', 'm', 'task_index', 0, 'output', 1)), t.worker())), 'applied', 'and completes without');
select pgflow.release_tasks(t.worker(), array[4::bigint]) \g /dev/null
select pgflow.fail_task(:'run', 'm', 2, 'no') \g /dev/null
select is(pg_temp.lost(), 'm[1] m[2] x[0]', 'released, or failed with an attempt left, it is lost');
select is(pg_temp.outcomes('m', 0, 1, 2), array['late', 'applied', 'applied'], 'and sent again');
select is((select attempts_count from pgflow.step_tasks where step_slug = 'm' and task_index = 2), 1, 'its attempts stay counted');

-- What is in hand and lost is left to its worker for as long as any task, and then listed, too.
select t.claim('own', 'm', 1, 1) \g /dev/null
select pgmq.purge_queue('own__m') \g /dev/null
select is(pg_temp.lost(), 'm[2] x[0]', 'a task in hand may still be settled');
update pgflow.step_tasks set queued_at = now() - interval '1 h', started_at = now() - interval '1 h' where step_slug = 'm' and status = 'started';
select is(pgflow.requeue_stalled_tasks(), 0, 'the sweep finds tasks through their messages');
select is(pg_temp.lost(), 'm[1] m[2] x[0]', 'nobody will settle it any more');
select is(pg_temp.outcomes('m', 1, 2), array['applied', 'applied'], 'it is sent again');

-- A run that is over needs nothing.
select pgflow.cancel_run(:'other') \g /dev/null
select is(pg_temp.lost(), null, 'a task of a run that is over is not lost');
select is_empty('select t.broken()', 'all invariants hold');

-- The queue itself.
select pgmq.drop_queue('own__m') \g /dev/null
select is(pg_temp.lost(), 'm[1] m[2]', 'with the queue all its messages are');
select is(t.refusal($$ select pg_temp.outcomes('m', 1) $$), '42P01 pgflow_queue_missing', 'which cannot be sent again before it is back');
select pgmq.create('own__m') \g /dev/null
select is(pg_temp.outcomes('m', 1, 2), array['applied', 'applied'], 'and then can');
select ok((select min(msg_id) > 7 from pgmq.q_own__m), 'under ids that no task has had');
select lives_ok($$ select pgflow.start_flow('own', '[1]') $$, 'so new runs start');
select is_empty('select t.broken()', 'all invariants hold');

-- A default queue comes back through create_flow.
select pgflow.create_flow('plain'), pgflow.add_step('plain', 'a') \g /dev/null
select pgflow.start_flow('plain', '{}'), pgflow.start_flow('plain', '{}') \g /dev/null
select pgmq.drop_queue('plain') \g /dev/null
select pgflow.create_flow('plain') \g /dev/null
select lives_ok($$ select pgflow.start_flow('plain', '{}') $$, 'a new run starts on a default queue that is back');
select is(pg_temp.lost('plain'), 'a[0] a[0]', 'the old ones wait for their messages');
select is(
  (select array_agg(outcome) from pgflow.requeue_tasks((
    select jsonb_agg(jsonb_build_object('run_id', run_id, 'step_slug', step_slug, 'task_index', task_index)) from pgflow.stalled_tasks('plain')))),
  array['applied', 'applied'], 'which what is listed asks for'
);
select is_empty('select t.broken()', 'all invariants hold');

select * from finish();
rollback;
