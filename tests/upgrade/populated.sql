-- A database of the baseline at work: two flows, one queue spelled in mixed case; queued, started, retried, delayed,
-- stalled, skipped, completed, failed and cancelled tasks, and archived messages.
insert into pgflow.flows (flow_slug, opt_max_attempts, opt_base_delay, opt_timeout) values
  ('orderV1', 5, 2, 30), ('unused_flow', 3, 5, 60);
insert into pgflow.steps (flow_slug, step_slug, step_type, step_index, deps_count, required_input_pattern) values
  ('orderV1', 'load', 'single', 0, 0, '{"kind": "order"}'),
  ('orderV1', 'eachLine', 'map', 1, 1, null),
  ('orderV1', 'send_Mail', 'single', 2, 1, null),
  ('unused_flow', 'only', 'single', 0, 0, null);
insert into pgflow.deps (flow_slug, dep_slug, step_slug) values ('orderV1', 'load', 'eachLine'), ('orderV1', 'load', 'send_Mail');
select pgmq.create('OrderV1'), pgmq.create('unused_flow');

insert into pgflow.workers (worker_id, queue_name, function_name) values ('00000000-0000-4000-8000-00000000000a', 'orderv1', 'order');
update pgflow.workers set last_heartbeat_at = now() - interval '1 hour';
insert into pgflow.worker_functions (function_name, enabled, start_mode) values ('order', false, 'process');

insert into pgflow.runs (run_id, flow_slug, input, status, remaining_steps, started_at, failed_at) values
  ('00000000-0000-4000-8000-000000000001', 'orderV1', '{"kind": "order"}', 'started', 1, now(), null),
  ('00000000-0000-4000-8000-000000000002', 'orderV1', '{"kind": "order"}', 'failed', 3, now(), now());
insert into pgflow.step_states (flow_slug, run_id, step_slug, status, initial_tasks, remaining_tasks, started_at, completed_at, failed_at, skipped_at, skip_reason, output) values
  ('orderV1', '00000000-0000-4000-8000-000000000001', 'load', 'completed', 1, 0, now(), now(), null, null, null, '[1, 2, 3, 4]'),
  ('orderV1', '00000000-0000-4000-8000-000000000001', 'eachLine', 'started', 4, 4, now(), null, null, null, null, null),
  ('orderV1', '00000000-0000-4000-8000-000000000001', 'send_Mail', 'skipped', 1, null, now(), null, null, now(), 'handler_failed', null),
  ('orderV1', '00000000-0000-4000-8000-000000000002', 'load', 'failed', 1, 1, now(), null, now(), null, null, null),
  ('orderV1', '00000000-0000-4000-8000-000000000002', 'eachLine', 'created', null, null, null, null, null, null, null, null),
  ('orderV1', '00000000-0000-4000-8000-000000000002', 'send_Mail', 'started', 1, 1, now(), null, null, null, null, null);
insert into pgflow.step_tasks (flow_slug, run_id, step_slug, task_index, message_id, status, attempts_count, started_at, completed_at, failed_at, last_worker_id, error_message, output, requeued_count, permanently_stalled_at) values
  ('orderV1', '00000000-0000-4000-8000-000000000001', 'load', 0, (select pgmq.send('orderv1', '"archived"')), 'completed', 1, now(), now(), null, '00000000-0000-4000-8000-00000000000a', null, '[1, 2, 3, 4]', 0, null),
  ('orderV1', '00000000-0000-4000-8000-000000000001', 'eachLine', 0, (select pgmq.send('orderv1', '"queued"')), 'queued', 0, null, null, null, null, null, null, 0, null),
  ('orderV1', '00000000-0000-4000-8000-000000000001', 'eachLine', 1, (select pgmq.send('orderv1', '"delayed"', 3600)), 'queued', 2, null, null, null, null, 'try again', null, 0, null),
  ('orderV1', '00000000-0000-4000-8000-000000000001', 'eachLine', 2, (select pgmq.send('orderv1', '"started"', 32)), 'started', 1, now(), null, null, '00000000-0000-4000-8000-00000000000a', null, null, 1, null),
  ('orderV1', '00000000-0000-4000-8000-000000000001', 'eachLine', 3, (select pgmq.send('orderv1', '"stalled"')), 'started', 4, now(), null, null, '00000000-0000-4000-8000-00000000000a', null, null, 3, now()),
  ('orderV1', '00000000-0000-4000-8000-000000000001', 'send_Mail', 0, (select pgmq.send('orderv1', '"skipped"')), 'skipped', 5, now(), null, null, null, 'no', null, 0, null),
  ('orderV1', '00000000-0000-4000-8000-000000000002', 'load', 0, (select pgmq.send('orderv1', '"failed"')), 'failed', 5, now(), null, now(), null, 'no', null, 0, null),
  ('orderV1', '00000000-0000-4000-8000-000000000002', 'send_Mail', 0, (select pgmq.send('orderv1', '"cancelled"')), 'cancelled', 0, null, null, null, null, null, null, 0, null);
select pgmq.archive('orderv1', array(
  select msg_id from pgmq.q_orderv1 where message in ('"archived"', '"stalled"', '"skipped"', '"failed"', '"cancelled"')
));
