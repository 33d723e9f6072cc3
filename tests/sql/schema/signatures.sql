-- What callers name is there: every signature of the API with its parameter names, volatility and security; and no other
-- overload of it.
begin;
select plan(5);

create temp table api (signature text, result text, kind text);
insert into api values
  ('create_flow(flow_slug text, max_attempts integer DEFAULT NULL::integer, base_delay integer DEFAULT NULL::integer, timeout integer DEFAULT NULL::integer)', 'pgflow.flows', 'v'),
  ('add_step(flow_slug text, step_slug text, deps_slugs text[] DEFAULT ''{}''::text[], max_attempts integer DEFAULT NULL::integer, base_delay integer DEFAULT NULL::integer, timeout integer DEFAULT NULL::integer, start_delay integer DEFAULT NULL::integer, step_type text DEFAULT ''single''::text, required_input_pattern jsonb DEFAULT NULL::jsonb, forbidden_input_pattern jsonb DEFAULT NULL::jsonb, when_unmet text DEFAULT ''skip''::text, when_exhausted text DEFAULT ''fail''::text)', 'pgflow.steps', 'v'),
  ('ensure_flow_compiled(flow_slug text, shape jsonb, queue_mode text DEFAULT ''flow''::text, route_map jsonb DEFAULT NULL::jsonb)', 'jsonb', 'v'),
  ('verify_flow_compiled(flow_slug text, shape jsonb, queue_mode text DEFAULT ''flow''::text, route_map jsonb DEFAULT NULL::jsonb)', 'jsonb', 'v'),
  ('delete_flow_and_data(p_flow_slug text)', 'void', 'v'),
  ('start_flow(flow_slug text, input jsonb, run_id uuid DEFAULT NULL::uuid)', 'SETOF pgflow.runs', 'v'),
  ('start_flows(flow_slug text, inputs jsonb[], run_ids uuid[] DEFAULT NULL::uuid[])', 'SETOF pgflow.runs', 'v'),
  ('start_flow_with_states(flow_slug text, input jsonb, run_id uuid DEFAULT NULL::uuid)', 'jsonb', 'v definer'),
  ('get_run_with_states(run_id uuid)', 'jsonb', 'v definer'),
  ('start_tasks(flow_slug text, msg_ids bigint[], worker_id uuid, queue_name text, step_slug text DEFAULT NULL::text)', 'SETOF pgflow.step_task_record', 'v'),
  ('complete_task(run_id uuid, step_slug text, task_index integer, output jsonb)', 'SETOF pgflow.step_tasks', 'v'),
  ('fail_task(run_id uuid, step_slug text, task_index integer, error_message text)', 'SETOF pgflow.step_tasks', 'v'),
  ('set_vt_batch(queue_name text, msg_ids bigint[], vt_offsets integer[])', 'TABLE(msg_id bigint, read_ct integer, enqueued_at timestamp with time zone, vt timestamp with time zone, message jsonb, headers jsonb)', 'v'),
  ('requeue_stalled_tasks()', 'integer', 'v definer'),
  ('start_ready_steps(run_id uuid)', 'void', 'v'),
  ('cascade_resolve_conditions(run_id uuid)', 'boolean', 'v'),
  ('cascade_complete_taskless_steps(run_id uuid)', 'integer', 'v'),
  ('maybe_complete_run(run_id uuid)', 'void', 'v'),
  ('track_worker_function(function_name text, start_mode text DEFAULT ''http''::text)', 'void', 'v'),
  ('mark_worker_stopped(worker_id uuid)', 'void', 'v'),
  ('ensure_workers()', 'TABLE(function_name text, invoked boolean, request_id bigint)', 'v'),
  ('setup_ensure_workers_cron(cron_interval text DEFAULT ''1 second''::text)', 'text', 'v definer'),
  ('setup_requeue_stalled_tasks_cron(cron_interval text DEFAULT ''15 seconds''::text)', 'text', 'v definer'),
  ('cleanup_ensure_workers_logs(retention_hours integer DEFAULT 24)', 'TABLE(cron_deleted bigint)', 'v definer'),
  ('is_local()', 'boolean', 's'),
  ('is_valid_slug(slug text)', 'boolean', 'i'),
  ('is_valid_queue_name(queue_name text)', 'boolean', 'i'),
  ('calculate_retry_delay(base_delay numeric, attempts_count integer)', 'integer', 'i'),
  ('poll_for_tasks(queue_name text, vt integer, qty integer, max_poll_seconds integer DEFAULT 5, poll_interval_ms integer DEFAULT 100)', 'SETOF pgflow.step_task_record', 'v'),
  ('_get_flow_shape(p_flow_slug text)', 'jsonb', 's'),
  ('_compare_flow_shapes(p_local jsonb, p_db jsonb)', 'text[]', 'i'),
  ('_resolve_step_queue_name(p_flow_slug text, p_step_slug text, p_step_index integer)', 'text', 'i'),
  ('_derive_queue_routes(p_flow_slug text, p_shape jsonb, p_queue_mode text)', 'jsonb', 'v'),
  ('_create_flow_from_shape(p_flow_slug text, p_shape jsonb, p_queue_mode text DEFAULT ''flow''::text)', 'void', 'v'),
  ('_assert_step_queue_available(p_flow_slug text, p_queue_name text)', 'boolean', 's'),
  ('_listed_queue_name(p_queue_name text)', 'text', 's'),
  ('_cascade_force_skip_steps(run_id uuid, step_slug text, skip_reason text)', 'integer', 'v'),
  ('_archive_task_message(p_run_id uuid, p_step_slug text, p_task_index integer)', 'void', 'v');

select set_eq(
  $$ select format('%s(%s) %s %s', p.proname, pg_get_function_arguments(p.oid), pg_get_function_result(p.oid),
         p.provolatile::text || case when p.prosecdef then ' definer' else '' end)
       from pg_proc p
       where p.pronamespace = 'pgflow'::regnamespace and p.proname in (select split_part(signature, '(', 1) from api) $$,
  $$ select format('%s %s %s', signature, result, kind) from api $$, 'no more, no less'
);
select is_empty(
  $$ select p.oid::regprocedure from pg_proc p
       where p.pronamespace = 'pgflow'::regnamespace and p.prosecdef
         and p.proname not in (select split_part(signature, '(', 1) from api where kind like '%definer') $$,
  'nothing else runs with its owner''s rights'
);
select is_empty(
  $$ select p.oid::regprocedure from pg_proc p
       where p.pronamespace in ('pgflow'::regnamespace, 'pgmq'::regnamespace) and p.prokind <> 'a'
         and not coalesce('search_path=pg_catalog, pg_temp' = any(p.proconfig), false)
         and not exists (select from pg_depend d where d.objid = p.oid and d.deptype = 'e')
         and p.proname not in ('_fallback_version') $$,
  'every function looks into pg_catalog only, and into pg_temp last'
);
select is(
  (select nspacl::text from pg_namespace where nspname = 'pgflow') ~ '(^|[{,])=', false, 'PUBLIC has no right on the schema'
);
select is(pgflow.schema_version(), (select max(version) from pgflow.schema_migrations), 'schema_version is the newest migration');

select * from finish();
rollback;
