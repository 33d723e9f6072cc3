-- Adoption of a schema pgflow that upstream's installer made (0.16 or 0.17): what 0001_baseline would have made is there,
-- or the error names all that is not. Runs before 0002_step_queues, which checks the definitions and adds what 0.16 lacks.

set local lock_timeout = '10s';

do $$
declare
  v_missing text;
begin
  select string_agg(missing.text, E'\n' order by missing.text) into v_missing
    from (
      select format('column pgflow.%s.%s %s', wanted.relation, wanted.name, wanted.type) as text
        from (values
          ('flows', 'flow_slug', 'text'), ('flows', 'opt_max_attempts', 'integer'), ('flows', 'opt_base_delay', 'integer'),
          ('flows', 'opt_timeout', 'integer'), ('flows', 'created_at', 'timestamp with time zone'),
          ('steps', 'flow_slug', 'text'), ('steps', 'step_slug', 'text'), ('steps', 'step_type', 'text'),
          ('steps', 'step_index', 'integer'), ('steps', 'deps_count', 'integer'), ('steps', 'opt_max_attempts', 'integer'),
          ('steps', 'opt_base_delay', 'integer'), ('steps', 'opt_start_delay', 'integer'), ('steps', 'opt_timeout', 'integer'),
          ('steps', 'required_input_pattern', 'jsonb'), ('steps', 'forbidden_input_pattern', 'jsonb'),
          ('steps', 'when_unmet', 'text'), ('steps', 'when_exhausted', 'text'),
          ('steps', 'created_at', 'timestamp with time zone'),
          ('deps', 'flow_slug', 'text'), ('deps', 'dep_slug', 'text'), ('deps', 'step_slug', 'text'),
          ('deps', 'created_at', 'timestamp with time zone'),
          ('runs', 'run_id', 'uuid'), ('runs', 'flow_slug', 'text'), ('runs', 'status', 'text'), ('runs', 'input', 'jsonb'),
          ('runs', 'output', 'jsonb'), ('runs', 'remaining_steps', 'integer'),
          ('runs', 'started_at', 'timestamp with time zone'), ('runs', 'completed_at', 'timestamp with time zone'),
          ('runs', 'failed_at', 'timestamp with time zone'),
          ('step_states', 'flow_slug', 'text'), ('step_states', 'run_id', 'uuid'), ('step_states', 'step_slug', 'text'),
          ('step_states', 'status', 'text'), ('step_states', 'remaining_tasks', 'integer'),
          ('step_states', 'initial_tasks', 'integer'), ('step_states', 'remaining_deps', 'integer'),
          ('step_states', 'output', 'jsonb'), ('step_states', 'error_message', 'text'), ('step_states', 'skip_reason', 'text'),
          ('step_states', 'created_at', 'timestamp with time zone'), ('step_states', 'started_at', 'timestamp with time zone'),
          ('step_states', 'completed_at', 'timestamp with time zone'), ('step_states', 'failed_at', 'timestamp with time zone'),
          ('step_states', 'skipped_at', 'timestamp with time zone'),
          ('step_tasks', 'flow_slug', 'text'), ('step_tasks', 'run_id', 'uuid'), ('step_tasks', 'step_slug', 'text'),
          ('step_tasks', 'task_index', 'integer'), ('step_tasks', 'message_id', 'bigint'), ('step_tasks', 'status', 'text'),
          ('step_tasks', 'attempts_count', 'integer'), ('step_tasks', 'error_message', 'text'), ('step_tasks', 'output', 'jsonb'),
          ('step_tasks', 'queued_at', 'timestamp with time zone'), ('step_tasks', 'started_at', 'timestamp with time zone'),
          ('step_tasks', 'completed_at', 'timestamp with time zone'), ('step_tasks', 'failed_at', 'timestamp with time zone'),
          ('step_tasks', 'last_worker_id', 'uuid'), ('step_tasks', 'requeued_count', 'integer'),
          ('step_tasks', 'last_requeued_at', 'timestamp with time zone'),
          ('step_tasks', 'permanently_stalled_at', 'timestamp with time zone'),
          ('workers', 'worker_id', 'uuid'), ('workers', 'queue_name', 'text'), ('workers', 'function_name', 'text'),
          ('workers', 'started_at', 'timestamp with time zone'), ('workers', 'deprecated_at', 'timestamp with time zone'),
          ('workers', 'last_heartbeat_at', 'timestamp with time zone'), ('workers', 'stopped_at', 'timestamp with time zone'),
          ('worker_functions', 'function_name', 'text'), ('worker_functions', 'enabled', 'boolean'),
          ('worker_functions', 'debounce', 'interval'), ('worker_functions', 'start_mode', 'text'),
          ('worker_functions', 'last_invoked_at', 'timestamp with time zone'),
          ('worker_functions', 'created_at', 'timestamp with time zone'),
          ('worker_functions', 'updated_at', 'timestamp with time zone'),
          ('step_task_record', 'flow_slug', 'text'), ('step_task_record', 'run_id', 'uuid'),
          ('step_task_record', 'step_slug', 'text'), ('step_task_record', 'input', 'jsonb'),
          ('step_task_record', 'msg_id', 'bigint'), ('step_task_record', 'task_index', 'integer'),
          ('step_task_record', 'flow_input', 'jsonb')
        ) as wanted (relation, name, type)
        where not exists (
          select from pg_attribute a
            where a.attrelid = to_regclass('pgflow.' || wanted.relation) and a.attname = wanted.name
              and not a.attisdropped and format_type(a.atttypid, null) = wanted.type
        )
      union all
      select format('primary key pgflow.%s (%s)', wanted.relation, wanted.columns)
        from (values
          ('flows', 'flow_slug'), ('steps', 'flow_slug, step_slug'), ('deps', 'flow_slug, dep_slug, step_slug'),
          ('runs', 'run_id'), ('step_states', 'run_id, step_slug'), ('step_tasks', 'run_id, step_slug, task_index'),
          ('workers', 'worker_id'), ('worker_functions', 'function_name')
        ) as wanted (relation, columns)
        where not exists (
          select from pg_constraint c
            where c.conrelid = to_regclass('pgflow.' || wanted.relation)
              and c.conname = wanted.relation || '_pkey'
              and pg_get_constraintdef(c.oid) = format('PRIMARY KEY (%s)', wanted.columns)
        )
    ) missing;

  if v_missing is not null then
    raise exception using
      errcode = 'object_not_in_prerequisite_state',
      constraint = 'pgflow_schema_foreign',
      message = 'The schema pgflow cannot be adopted: it is not that of pgflow 0.16 or 0.17. Nothing was changed.',
      detail = v_missing,
      hint = 'What is named here is missing or of another type. Bring the database to upstream''s 0.16 first, or use another one.';
  end if;
end;
$$;

-- What versions before 0.16 left behind: unfinished tasks of steps and runs that are over.
alter table pgflow.step_tasks
  drop constraint if exists valid_status,
  add constraint valid_status check (status in ('queued', 'started', 'completed', 'failed', 'skipped', 'cancelled'));
update pgflow.step_tasks t
  set status = case s.status when 'skipped' then 'skipped' else 'cancelled' end
  from pgflow.step_states s join pgflow.runs r using (run_id)
  where t.run_id = s.run_id and t.step_slug = s.step_slug and t.status in ('queued', 'started')
    and (s.status = 'skipped' or r.status = 'failed');

-- What the functions look for on every poll.
create index if not exists idx_step_tasks_in_hand on pgflow.step_tasks (last_worker_id)
  where status = 'started' and permanently_stalled_at is null;
create index if not exists idx_runs_flow_started on pgflow.runs (flow_slug, started_at);
