-- restore_queues makes the dropped queues of a flow again, in either mode, and lets them count on; what is there stays as it is.
\ir ../../support/engine.psql
\ir ../../../sql/operator/roles.sql
begin;
select plan(21);

select pgflow.ensure_flow_compiled('Own', '{"steps": [{"slug": "a"}, {"slug": "b"}, {"slug": "c"}]}', 'step') \g /dev/null
select pgflow.create_flow('plain'), pgflow.add_step('plain', 'a') \g /dev/null
select pgflow.start_flow(flow, '{}') from unnest(array['Own', 'Own', 'plain', 'plain']) flow \g /dev/null
create function pg_temp.as_operator(p_sql text) returns text language plpgsql as $$
declare
  v_answer text;
begin
  perform set_config('role', 'pgflow_operator', true);
  execute p_sql into v_answer;
  perform set_config('role', 'none', true);
  return v_answer;
end $$;
create function pg_temp.restored(p_flow text) returns text language sql as $$
  select pg_temp.as_operator(format('select string_agg(name, '' '') from pgflow.restore_queues(%L) name', p_flow))
$$;

select is(pg_temp.restored('Own'), null, 'nothing is missing');
select is(pg_temp.restored('nobody'), null, 'nor of an unknown flow');

-- One queue is dropped, one is made again by hand, of one only the table is gone.
select t.claim('Own', step) from unnest(array['a', 'b', 'c']) step \g /dev/null
select pgflow.complete_task(run_id, step_slug, 0, '1') from pgflow.step_tasks where status = 'started' and step_slug <> 'c' \g /dev/null
select pgflow.start_flow('Own', '{}') \g /dev/null
select pgmq.drop_queue('own__a'), pgmq.drop_queue('own__b'), pgmq.create('own__b') \g /dev/null
drop table pgmq.q_own__c;
select is(pg_temp.restored('own'), null, 'only the exact spelling counts');
select is(pg_temp.restored('Own'), 'own__a own__c', 'what is missing is made');
select is(pg_temp.restored('Own'), null, 'once');
select ok(to_regclass('pgmq.a_own__a') is not null, 'with its archive');
select is((select string_agg(queue_name, ' ' order by queue_name) from pgmq.list_queues()), 'own__a own__b own__c plain', 'and listed once');
select lives_ok($$ select pgflow.start_flow('Own', '{}') from generate_series(1, 2) $$, 'new runs start');
select is(
  (select string_agg(msg_id::text, ' ' order by msg_id) from pgmq.q_own__a), '4 5', 'with messages that no task has had'
);
select is((select string_agg(msg_id::text, ' ' order by msg_id) from pgmq.q_own__b), '4 5', 'also on the queue that was made by hand');
select is((select count(*) from t.claim('Own', 'a')), 2::bigint, 'which are claimed');
select results_eq(
  $$ select step_slug, count(*) from pgflow.stalled_tasks() group by 1 order by 1 $$, $$ values ('a', 1::bigint), ('b', 1), ('c', 1) $$,
  'tasks that waited for the lost ones are listed'
);
select is(
  pg_temp.as_operator($$ select string_agg(distinct outcome, ' ') from pgflow.requeue_tasks((
    select jsonb_agg(jsonb_build_object('run_id', run_id, 'step_slug', step_slug, 'task_index', task_index)) from pgflow.stalled_tasks())) $$),
  'applied', 'and sent again'
);
select is_empty('select * from pgflow.stalled_tasks()', 'so nothing is lost any more');

-- Flow mode.
select pgmq.drop_queue('plain') \g /dev/null
select is(pg_temp.restored('plain'), 'plain', 'a default queue comes back too');
select lives_ok($$ select pgflow.start_flow('plain', '{}') $$, 'and serves new runs');
select is(t.refusal($$ select pg_temp.as_operator('select pgmq.create(''mine'')') $$), '42501 ', 'an operator makes no other queue');

-- Without its archive nothing could leave a queue: then it counts as missing.
select pgflow.create_flow('kept'), pgflow.add_step('kept', 'a') \g /dev/null
select run_id as kept from pgflow.start_flow('kept', '{}') \gset
drop table pgmq.a_kept;
select is((select status from pgflow.cancel_run(:'kept')), 'failed', 'what ends work needs no archive');
select is(t.refusal($$ select pgflow.start_flow('kept', '{}') $$), '42P01 pgflow_queue_missing', 'what starts it does');
select is(pg_temp.restored('kept'), 'kept', 'it is made again');
select lives_ok($$ select pgflow.start_flow('kept', '{}') $$, 'and used');

select * from finish();
rollback;
