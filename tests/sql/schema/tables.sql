-- The migrations build what sql-core 2 lists.
begin;
select plan(18);

select columns_are('pgflow', 'flows', array[
  'flow_slug', 'opt_max_attempts', 'opt_base_delay', 'opt_timeout', 'queue_mode', 'created_at'
]);
select columns_are('pgflow', 'steps', array[
  'flow_slug', 'step_slug', 'queue_name', 'step_type', 'step_index', 'deps_count', 'opt_max_attempts', 'opt_base_delay',
  'opt_start_delay', 'opt_timeout', 'required_input_pattern', 'forbidden_input_pattern', 'when_unmet', 'when_exhausted',
  'created_at'
]);
select columns_are('pgflow', 'deps', array['flow_slug', 'dep_slug', 'step_slug', 'created_at']);
select columns_are('pgflow', 'runs', array[
  'run_id', 'flow_slug', 'status', 'input', 'output', 'remaining_steps', 'started_at', 'completed_at', 'failed_at'
]);
select columns_are('pgflow', 'step_states', array[
  'flow_slug', 'run_id', 'step_slug', 'status', 'remaining_tasks', 'initial_tasks', 'remaining_deps', 'output',
  'error_message', 'skip_reason', 'created_at', 'started_at', 'completed_at', 'failed_at', 'skipped_at'
]);
select columns_are('pgflow', 'step_tasks', array[
  'flow_slug', 'run_id', 'step_slug', 'task_index', 'queue_name', 'message_id', 'status', 'attempts_count',
  'error_message', 'output', 'queued_at', 'started_at', 'completed_at', 'failed_at', 'last_worker_id',
  'requeued_count', 'last_requeued_at', 'permanently_stalled_at', 'crash_count'
]);
select columns_are('pgflow', 'workers', array[
  'worker_id', 'queue_name', 'function_name', 'started_at', 'deprecated_at', 'last_heartbeat_at', 'stopped_at', 'pid',
  'host_id', 'revision'
]);
select columns_are('pgflow', 'worker_functions', array[
  'function_name', 'enabled', 'debounce', 'start_mode', 'last_invoked_at', 'created_at', 'updated_at'
]);
select columns_are('pgflow', 'fences', array[
  'fence_id', 'function_names', 'recorded', 'owner', 'reason', 'token_hash', 'created_at', 'lifted_at', 'forced_reason'
]);
select columns_are('pgflow', 'fenced_functions', array['function_name', 'fence_id']);
select columns_are('pgflow', 'supervisors', array[
  'generation', 'name', 'host_id', 'pid', 'function_names', 'started_at', 'last_seen_at', 'stopped_at'
]);
select columns_are('pgflow', 'fence_acks', array['fence_id', 'generation', 'acked_at']);
select is(
  (select string_agg(attname || ' ' || format_type(atttypid, atttypmod), ', ' order by attnum)
     from pg_attribute where attrelid = 'pgflow.step_task_record'::regclass),
  'flow_slug text, run_id uuid, step_slug text, input jsonb, msg_id bigint, task_index integer, flow_input jsonb',
  'step_task_record keeps its order'
);
select index_is_unique('pgflow', 'step_tasks', 'idx_step_tasks_queue_message', 'a message is the pair');
select index_is_unique('pgflow', 'flows', 'idx_flows_normalized_slug', 'flows are unique whatever their case');
select index_is_unique('pgflow', 'steps', 'idx_steps_normalized_slug', 'so are the steps of a flow');

insert into pgflow.flows (flow_slug) values ('clock');
insert into pgflow.runs (flow_slug, input) select 'clock', '1' from generate_series(1, 50);
select is(
  (select count(*)::int from pgflow.runs where run_id::text ~ '^........-....-7...-[89ab]...-............$'),
  50, 'a run id is a uuid of version 7'
);
select ok(
  (select bool_and(
     abs(extract(epoch from clock_timestamp()) - ('x' || left(replace(run_id::text, '-', ''), 12))::bit(48)::bigint / 1000.0) < 60
   ) from pgflow.runs),
  'that starts with the time'
);

select * from finish();
rollback;
