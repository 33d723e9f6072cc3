-- set_vt_batch reaches the queues of flows in either mode, and no other.
\ir ../support.psql
begin;
select plan(8);
select pgflow.create_flow('Plain') \g /dev/null
select pgflow.ensure_flow_compiled('Stepped', shape('a'), 'step') \g /dev/null
select pgmq.create('private'), pgmq.create('stepped') \g /dev/null
select pgmq.send(queue, '{"secret": 1}') from unnest(array['plain', 'stepped__a', 'private', 'stepped']) queue \g /dev/null
create function pg_temp.shown(p_queue text) returns bigint language sql as $$ select count(*) from pgflow.set_vt_batch(p_queue, array[1], array[100]) $$;

select is(pg_temp.shown('plain'), 1::bigint, 'the default queue of a flow, which has no step yet');
select is(pg_temp.shown('Plain'), 1::bigint, 'in any spelling');
select is(pg_temp.shown('stepped__a'), 1::bigint, 'the queue of a step');
select is(error_of($$ select pg_temp.shown('private') $$) - 'detail' - 'hint',
  '{"sqlstate": "42P01", "kind": "queue_unknown", "message": "No flow has a queue \"private\"."}', 'another queue is unknown'
);
select kind_is($$ select pg_temp.shown('stepped') $$, 'queue_unknown', 'also one that is named like a flow in step mode');
select kind_is($$ select pg_temp.shown('nobody') $$, 'queue_unknown', 'as is a queue that does not exist');
select kind_is($$ select pg_temp.shown(null) $$, 'queue_unknown', 'or has no name');
select is((select count(*) from pgmq.q_private where vt > clock_timestamp()), 0::bigint, 'its messages stay as they are');

select * from finish();
rollback;
