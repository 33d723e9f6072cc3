-- Recovery goes queue by queue: one that was dropped by hand, or a flow with an absurd timeout, costs the others nothing.
\ir ../../support/engine.psql
begin;
select plan(9);

select pgflow.create_flow(flow) from unnest(array['aa', 'bb', 'cc']) flow \g /dev/null
select pgflow.add_step(flow, 's') from unnest(array['aa', 'bb', 'cc']) flow \g /dev/null
select pgflow.create_flow('forever', timeout => 2147483647) \g /dev/null
select pgflow.add_step('forever', 's') \g /dev/null
select pgflow.start_flow(flow, '{}') from unnest(array['aa', 'bb', 'cc', 'forever']) flow \g /dev/null
select t.claim(flow) from unnest(array['aa', 'bb', 'cc', 'forever']) flow \g /dev/null
select is((select count(*) from pgflow.step_tasks where status = 'started'), 4::bigint, 'all are claimed, the longest timeout too');
select ok((select vt > now() + interval '60 years' from pgmq.q_forever), 'which hides its message for a lifetime');
select is_empty($$ select * from pgflow.read_and_claim('forever', 'forever', null, t.worker(), 1) $$, 'and can be polled');

update pgflow.step_tasks set queued_at = now() - interval '2 h', started_at = now() - interval '1 h';
select pgmq.drop_queue('bb') \g /dev/null
set local client_min_messages = error;
select is(pgflow.requeue_stalled_tasks(), 2, 'two of them are given back');
select results_eq(
  'select flow_slug, status, requeued_count from pgflow.step_tasks order by flow_slug',
  $$ values ('aa', 'queued', 1), ('bb', 'started', 0), ('cc', 'queued', 1), ('forever', 'started', 0) $$,
  'the task whose queue is gone stays as it is'
);
select is((select count(*) from pgmq.q_aa where vt <= clock_timestamp()), 1::bigint, 'the others'' messages are visible');
select is(pgflow.requeue_stalled_tasks(), 0, 'asked again, nothing new');
select pgmq.create('bb') \g /dev/null
select is(pgflow.requeue_stalled_tasks(), 1, 'a queue that is back is served');

-- A task that was settled between the look and the lock.
select is(
  pgflow._requeue_stalled(array[run_id], array[step_slug], array[task_index], array[started_at - interval '1 s']), 0,
  'another attempt than the one that stalled is left alone'
) from pgflow.step_tasks where flow_slug = 'forever';

select * from finish();
rollback;
