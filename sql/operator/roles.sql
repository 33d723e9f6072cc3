-- Three roles without login for one database; grant them to the roles that log in. Run it once, as a role that may create
-- roles and is, or may act as, the owner of the schema pgflow; from then on `pgflow migrate up` runs it again after each update.
--
--   pgflow_worker    what a worker does: verify its flow, register, beat, claim, settle, give back
--   pgflow_reader    look at everything, change nothing
--   pgflow_operator  what a supervisor and an operator do: compile and delete flows, start and cancel runs, fence, requeue,
--                    prune; and what a reader does
--
-- None of them may touch a table or a queue directly. The functions below run with the rights of the schema's owner, so
-- queues that are made later need no grants. Every other function runs with the rights of its caller, and may be called.

do $$
declare
  v_role text;
begin
  foreach v_role in array array['pgflow_worker', 'pgflow_reader', 'pgflow_operator'] loop
    if not exists (select from pg_catalog.pg_roles r where r.rolname = v_role) then
      begin
        execute format('create role %I nologin', v_role);
      exception when duplicate_object or unique_violation then
        null; -- made meanwhile, for another database of this server
      end;
    end if;
  end loop;
  if not pg_has_role('pgflow_operator', 'pgflow_reader', 'usage') then
    grant pgflow_reader to pgflow_operator;
  end if;
end;
$$;

grant usage on schema pgflow, pgmq to pgflow_worker, pgflow_reader, pgflow_operator;
grant execute on all routines in schema pgflow to pgflow_worker, pgflow_reader, pgflow_operator;

-- Functions that act with the owner's rights, and who may call them. One that is not named here is for the owner alone.
do $$
declare
  v_entries constant text[] := array[
    'track_worker_function:  worker operator',
    'register_worker:        worker operator',
    'heartbeat:              worker operator',
    'heartbeat_with_tasks:   worker operator',
    'mark_worker_stopped:    worker operator',
    'read_and_claim:         worker operator',
    'start_tasks:            worker operator',
    'complete_task:          worker operator',
    'complete_tasks:         worker operator',
    'fail_task:              worker operator',
    'fail_tasks:             worker operator',
    'release_tasks:          worker operator',
    'set_vt_batch:           worker operator',
    'next_visible_at:        worker operator',
    'release_worker:         operator',
    'requeue_stalled_tasks:  operator',
    'start_flow:             operator',
    'start_flows:            operator',
    'start_flow_with_states: operator',
    'get_run_with_states:    reader operator',
    'cancel_run:             operator',
    'requeue_tasks:          operator',
    'restore_queues:         operator',
    'create_flow:            operator',
    'add_step:               operator',
    '_create_flow_from_shape: operator',
    'delete_flow_and_data:   operator',
    'fence_functions:        operator',
    'unfence_functions:      operator',
    'deprecate_workers:      operator',
    'supervisor_heartbeat:   operator',
    'ack_fence:              operator',
    'mark_supervisor_stopped: operator',
    'prune_data_older_than:  operator',
    '_prune_workers:         operator',
    '_prune_runs:            operator',
    '_prune_archive:         operator',
    '_prune_events:          operator'
  ];
  v_function record;
begin
  for v_function in
    select p.oid::regprocedure as signature, p.prosecdef, coalesce(entry.roles, '{}') as roles
      from pg_catalog.pg_proc p
      left join lateral (
        select regexp_split_to_array(trim(split_part(e, ':', 2)), ' +') as roles
          from unnest(v_entries) e where split_part(e, ':', 1) = p.proname
      ) entry on true
      where p.pronamespace = 'pgflow'::regnamespace and p.prokind = 'f' and (p.prosecdef or entry.roles is not null)
  loop
    execute format('revoke execute on function %s from pgflow_worker, pgflow_reader, pgflow_operator', v_function.signature);
    if v_function.roles <> '{}' then
      execute format('alter function %s security definer', v_function.signature);
      execute format(
        'grant execute on function %s to %s', v_function.signature,
        (select string_agg('pgflow_' || role, ', ') from unnest(v_function.roles) role)
      );
    end if;
  end loop;
end;
$$;

-- A worker verifies its definition, and looks for tasks whose claim it never heard of.
grant select on pgflow.flows, pgflow.steps, pgflow.deps, pgflow.schema_migrations to pgflow_worker;
grant select (message_id, last_worker_id, status) on pgflow.step_tasks to pgflow_worker;
grant select on pgmq.meta to pgflow_worker, pgflow_reader;
grant execute on function pgmq.list_queues(), pgmq.validate_queue_name(text), pgmq.format_table_name(text, text)
  to pgflow_worker, pgflow_reader;

-- A reader sees all tables, queues and archives, also those to come.
grant select on all tables in schema pgflow, pgmq to pgflow_reader;
grant select on all sequences in schema pgmq to pgflow_reader;
grant execute on function pgmq.metrics(text), pgmq.metrics_all() to pgflow_reader;
do $$
declare
  v_owner text;
begin
  select r.rolname into v_owner
    from pg_catalog.pg_namespace n join pg_catalog.pg_roles r on r.oid = n.nspowner
    where n.nspname = 'pgflow';
  execute format('alter default privileges for role %I in schema pgflow, pgmq grant select on tables to pgflow_reader', v_owner);
  execute format('alter default privileges for role %I in schema pgmq grant select on sequences to pgflow_reader', v_owner);
end;
$$;
