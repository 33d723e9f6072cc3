-- A whole life of runs on the newest shape of PGMQ: nothing of ours leans on its types, its column order or one overload.
\ir ../support.psql
create temp table before as select p.oid::regprocedure::text as signature from pg_proc p where p.pronamespace = 'pgflow'::regnamespace;
\ir newest.psql
\ir ../../support/engine.psql
\ir ../../../sql/operator/prune_data_older_than.sql
select plan(23);

select is_empty(
  $$ select signature from before where to_regprocedure(signature) is null $$, 'no function of ours went with PGMQ''s types'
);
select is(
  pgflow.ensure_flow_compiled('newest', shape('a', 'm*:a', 'z:m'), 'step') ->> 'status', 'compiled', 'a flow is compiled'
);
select is(pgflow.ensure_flow_compiled('newest', shape('a', 'm*:a', 'z:m'), 'step') ->> 'status', 'verified', 'and verified');
select is(pgflow.ensure_flow_compiled('plain', shape('a'), 'flow') ->> 'status', 'compiled', 'one in flow mode too');

-- Read and claim, retry, complete.
select run_id as run from pgflow.start_flow('newest', '{}') \gset
select results_eq(
  $$ select msg_id, outcome, attempt from pgflow.read_and_claim('newest__a', 'newest', 'a', t.worker(1), 10) $$,
  $$ values (1::bigint, 'claimed', 1) $$, 'a task is claimed'
);
select is(
  (select outcome from pgflow.fail_tasks(
    jsonb_build_array(jsonb_build_object('run_id', :'run', 'step_slug', 'a', 'task_index', 0, 'attempt', 1, 'error', 'no')), t.worker(1)
  )),
  'applied', 'its failure is settled'
);
select ok((select vt > clock_timestamp() + interval '5 s' from pgmq.q_newest__a), 'its message waits for the retry');
select set_eq(
  $$ select msg_id, read_ct, message->>'step_slug' from pgflow.set_vt_batch('newest__a', array[1], array[0]) $$,
  $$ values (1::bigint, 1, 'a') $$, 'set_vt_batch names its columns'
);
select is((select count(*)::int from t.claim('newest', 'a')), 1, 'claimed again, in two steps');
select lives_ok(format($$ select pgflow.complete_task(%L, 'a', 0, '[1, 2, 3]') $$, :'run'), 'completed');
select is((select string_agg(msg_id::text, ',' order by msg_id) from pgmq.q_newest__m), '1,2,3', 'the map''s messages are sent');
select is((select count(*)::int from pgmq.a_newest__a), 1, 'the message is archived');

-- A claim given back, a stall, the end.
select is((select count(*)::int from t.claim('newest', 'm')), 3, 'the map is claimed');
select is(pgflow.release_tasks(t.worker(1), array[1::bigint]), 1, 'one task is given back');
update pgflow.step_tasks set queued_at = now() - interval '2 hours', started_at = now() - interval '1 hour' where step_slug = 'm' and status = 'started';
select is(pgflow.requeue_stalled_tasks(), 2, 'two stalled ones are requeued');
select is((select count(*)::int from t.claim('newest', 'm')), 3, 'all are claimed again');
select is(
  (select count(*)::int from pgflow.complete_tasks(
    (select jsonb_agg(jsonb_build_object('run_id', run_id, 'step_slug', 'm', 'task_index', task_index, 'attempt', attempts_count, 'output', task_index))
       from pgflow.step_tasks where step_slug = 'm'),
    t.worker(1)
  ) where outcome = 'applied'),
  3, 'and completed at once'
);
select lives_ok(format($$ select pgflow.complete_task(%L, 'z', 0, '"end"') from t.claim('newest', 'z') $$, :'run'), 'the last step');
select is((select output from pgflow.runs where run_id = :'run'), '{"z": "end"}', 'the run completes');

-- An empty map sends no empty batch.
select run_id as run from pgflow.start_flow('newest', '{}') \gset
select pgflow.complete_task(:'run', 'a', 0, '[]') from t.claim('newest', 'a');
select is(t.steps(:'run'), '{"a": "completed", "m": "completed", "z": "started"}', 'an empty map is passed');
select is_empty('select * from t.broken()', 'the invariants hold');

-- Ends.
select lives_ok($$ select pgflow.prune_data_older_than(interval '0') $$, 'pruning works');
select pgmq.drop_queue('newest__m');
select lives_ok($$ select pgflow.delete_flow_and_data('newest') $$, 'a flow is deleted although one of its queues is gone already');
select * from finish();
