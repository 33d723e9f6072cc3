-- A queue that was dropped by hand and made anew goes on above every message id that tasks still know.
\ir ../support.psql
begin;
select plan(9);
select pgflow.create_flow('Plain'), pgflow.add_step('Plain', 'a') \g /dev/null
select pgflow.start_flow('Plain', '{}') from generate_series(1, 3) \g /dev/null

select pgmq.drop_queue('plain') \g /dev/null
select pgflow.create_flow('Plain') \g /dev/null
select lives_ok($$ select pgflow.start_flow('Plain', '{}') $$, 'a run starts on the new queue');
select is((select max(message_id)::int from pgflow.step_tasks), 4, 'its message has the next id');
select is((select string_agg(msg_id::text, ',') from pgmq.q_plain), '4', 'in the queue too');
select pgflow.create_flow('Plain') \g /dev/null
select is(pgmq.send('plain', '{}')::int, 5, 'a queue that is there is left alone');

-- Its table was dropped, its archive was not.
select pgmq.archive('plain', 5::bigint) \g /dev/null
select pgmq.send('plain', '{}') \g /dev/null
drop table pgmq.q_plain;
delete from pgmq.meta where queue_name = 'plain';
select pgflow.create_flow('Plain') \g /dev/null
select is(pgmq.send('plain', '{}')::int, 6, 'archived ids are not given again');
select ok(pgmq.archive('plain', 6::bigint), 'so that it can be archived');

-- Forbidden to read from end to end, a plan that reads a sequence looks dear enough to be compiled to machine code.
select is(
  (select string_agg(proname, ' ') from pg_proc where prosrc like '%.last_value%' and 'enable_seqscan=off' = any (proconfig)),
  null, 'no function that reads a sequence forbids reading from end to end'
);

-- Only the listing was lost: ids do not go back.
select pgmq.send_batch('plain', array_fill('{}'::jsonb, array[20])) \g /dev/null
delete from pgmq.meta where queue_name = 'plain';
select pgflow.create_flow('Plain') \g /dev/null
select is(pgmq.send('plain', '{}')::int, 27, 'nor do those of a queue that was only forgotten');

-- Step mode: tasks of a route that lost their definition.
select pgflow.ensure_flow_compiled('stepped', shape('a'), 'step') \g /dev/null
select pgflow.start_flow('stepped', '{}') \g /dev/null
select pgmq.drop_queue('stepped__a') \g /dev/null
delete from pgflow.steps where flow_slug = 'stepped';
select pgflow._create_queue('stepped__a') \g /dev/null
select is(pgmq.send('stepped__a', '{}')::int, 2, 'a step queue goes on likewise');
select * from finish();
rollback;
