-- Recovery goes queue by queue: one that was dropped or spoilt by hand, or a flow with an absurd timeout, costs the others
-- nothing. A task needs no queue to be given back.
\ir ../../support/engine.psql
begin;
select plan(12);

select pgflow.create_flow(flow) from unnest(array['aa', 'bb', 'cc', 'dd']) flow \g /dev/null
select pgflow.add_step(flow, 's') from unnest(array['aa', 'bb', 'cc', 'dd']) flow \g /dev/null
select pgflow.create_flow('forever', timeout => 2147483647) \g /dev/null
select pgflow.add_step('forever', 's') \g /dev/null
select pgflow.start_flow(flow, '{}') from unnest(array['aa', 'bb', 'cc', 'dd', 'forever']) flow \g /dev/null
select t.claim(flow) from unnest(array['aa', 'bb', 'cc', 'dd', 'forever']) flow \g /dev/null
select is((select count(*) from pgflow.step_tasks where status = 'started'), 5::bigint, 'all are claimed, the longest timeout too');
select ok((select vt > now() + interval '60 years' from pgmq.q_forever), 'which hides its message for a lifetime');
select is_empty($$ select * from pgflow.read_and_claim('forever', 'forever', null, t.worker(), 1) $$, 'and can be polled');

update pgflow.step_tasks set queued_at = now() - interval '2 h', started_at = now() - interval '1 h';
select pgmq.drop_queue('bb') \g /dev/null
alter table pgmq.q_dd rename vt to spoilt;
set local client_min_messages = error;
select is(pgflow.requeue_stalled_tasks(), 3, 'three of them are given back');
select results_eq(
  'select flow_slug, status, requeued_count from pgflow.step_tasks order by flow_slug',
  $$ values ('aa', 'queued', 1), ('bb', 'queued', 1), ('cc', 'queued', 1), ('dd', 'started', 0), ('forever', 'started', 0) $$,
  'also the task whose queue is gone; the one whose queue cannot be written stays as it is'
);
select is((select count(*) from pgmq.q_aa where vt <= clock_timestamp()), 1::bigint, 'the others'' messages are visible');
select is(pgflow.requeue_stalled_tasks(), 0, 'asked again, nothing new');
alter table pgmq.q_dd rename spoilt to vt;
select is(pgflow.requeue_stalled_tasks(), 1, 'a queue that can be written again is served');

select results_eq('select flow_slug from pgflow.stalled_tasks()', array['bb'], 'the task without a message is listed');
select pgflow.restore_queues('bb') \g /dev/null
select is(
  (select outcome from pgflow.requeue_tasks((select jsonb_agg(to_jsonb(lost)) from pgflow.stalled_tasks('bb') lost))), 'applied',
  'and comes back with its queue'
);
select is((select count(*) from t.claim('bb')), 1::bigint, 'for any worker');

-- A task that was settled between the look and the lock.
select is(
  pgflow._requeue_stalled(array[run_id], array[step_slug], array[task_index], array[started_at - interval '1 s']), 0,
  'another attempt than the one that stalled is left alone'
) from pgflow.step_tasks where flow_slug = 'forever';

select * from finish();
rollback;
