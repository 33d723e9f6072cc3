-- A database of the baseline at work: two flows, one queue spelled in mixed case; queued, started, retried, delayed,
-- completed, cancelled and archived tasks.
insert into pgflow.flows (flow_slug, opt_max_attempts, opt_base_delay, opt_timeout) values
  ('orderV1', 5, 2, 30), ('unused_flow', 3, 5, 60);
insert into pgflow.steps (flow_slug, step_slug, queue_name, step_type, step_index, deps_count, required_input_pattern) values
  ('orderV1', 'load', 'orderv1', 'single', 0, 0, '{"kind": "order"}'),
  ('orderV1', 'eachLine', 'orderv1', 'map', 1, 1, null),
  ('unused_flow', 'only', 'unused_flow', 'single', 0, 0, null);
insert into pgflow.deps (flow_slug, dep_slug, step_slug) values ('orderV1', 'load', 'eachLine');
select pgmq.create('OrderV1'), pgmq.create('unused_flow');

insert into pgflow.workers (worker_id, queue_name, function_name) values ('00000000-0000-4000-8000-00000000000a', 'orderv1', 'order');
insert into pgflow.worker_functions (function_name, enabled, start_mode) values ('order', false, 'process');

insert into pgflow.runs (run_id, flow_slug, input, status, remaining_steps, started_at, failed_at) values
  ('00000000-0000-4000-8000-000000000001', 'orderV1', '{"kind": "order"}', 'started', 1, now(), null),
  ('00000000-0000-4000-8000-000000000002', 'orderV1', '{"kind": "order"}', 'failed', 2, now(), now());
insert into pgflow.step_states (flow_slug, run_id, step_slug, status, initial_tasks, remaining_tasks, started_at, completed_at, failed_at, output) values
  ('orderV1', '00000000-0000-4000-8000-000000000001', 'load', 'completed', 1, 0, now(), now(), null, '[1, 2, 3]'),
  ('orderV1', '00000000-0000-4000-8000-000000000001', 'eachLine', 'started', 3, 3, now(), null, null, null),
  ('orderV1', '00000000-0000-4000-8000-000000000002', 'load', 'failed', 1, 1, now(), null, now(), null);
insert into pgflow.step_tasks (flow_slug, run_id, step_slug, task_index, queue_name, message_id, status, attempts_count, started_at, completed_at, failed_at, last_worker_id, error_message, output) values
  ('orderV1', '00000000-0000-4000-8000-000000000001', 'load', 0, 'orderv1', (select pgmq.send('orderv1', '"archived"')), 'completed', 1, now(), now(), null, '00000000-0000-4000-8000-00000000000a', null, '[1, 2, 3]'),
  ('orderV1', '00000000-0000-4000-8000-000000000001', 'eachLine', 0, 'orderv1', (select pgmq.send('orderv1', '"queued"')), 'queued', 0, null, null, null, null, null, null),
  ('orderV1', '00000000-0000-4000-8000-000000000001', 'eachLine', 1, 'orderv1', (select pgmq.send('orderv1', '"delayed"', 3600)), 'queued', 2, null, null, null, null, 'try again', null),
  ('orderV1', '00000000-0000-4000-8000-000000000001', 'eachLine', 2, 'orderv1', (select pgmq.send('orderv1', '"started"', 32)), 'started', 1, now(), null, null, '00000000-0000-4000-8000-00000000000a', null, null),
  ('orderV1', '00000000-0000-4000-8000-000000000002', 'load', 0, 'orderv1', (select pgmq.send('orderv1', '"failed"')), 'failed', 5, now(), null, now(), null, 'no', null);
select pgmq.archive('orderv1', array(select msg_id from pgmq.q_orderv1 where message in ('"archived"', '"failed"')));
