-- What upstream's installer leaves at 0.16, as far as its documentation of tables goes: foreign keys everywhere, checks that
-- call functions, functions in other forms than ours. With some work in it.
create schema pgflow;

create function pgflow.is_valid_slug(slug text) returns boolean language plpgsql immutable as $$
begin
  return slug is not null and slug <> '' and length(slug) <= 128 and slug ~ '^[a-zA-Z_][a-zA-Z0-9_]*$' and slug <> 'run';
end $$;

create table pgflow.flows (
  flow_slug text primary key,
  opt_max_attempts int not null default 3 check (opt_max_attempts >= 0),
  opt_base_delay int not null default 1 check (opt_base_delay >= 0),
  opt_timeout int not null default 60 check (opt_timeout > 0),
  created_at timestamptz not null default now(),
  constraint slug_is_valid check (pgflow.is_valid_slug(flow_slug))
);
create table pgflow.steps (
  flow_slug text not null references pgflow.flows,
  step_slug text not null,
  step_type text not null default 'single' check (step_type in ('single', 'map')),
  step_index int not null default 0,
  deps_count int not null default 0 check (deps_count >= 0),
  opt_max_attempts int check (opt_max_attempts >= 0),
  opt_base_delay int check (opt_base_delay >= 0),
  opt_timeout int check (opt_timeout > 0),
  opt_start_delay int check (opt_start_delay >= 0),
  created_at timestamptz not null default now(),
  required_input_pattern jsonb check (jsonb_typeof(required_input_pattern) = 'object'),
  forbidden_input_pattern jsonb check (jsonb_typeof(forbidden_input_pattern) = 'object'),
  when_unmet text not null default 'skip',
  when_exhausted text not null default 'fail',
  primary key (flow_slug, step_slug),
  constraint steps_flow_slug_step_index_key unique (flow_slug, step_index),
  constraint steps_step_slug_check check (pgflow.is_valid_slug(step_slug))
);
create table pgflow.deps (
  flow_slug text not null references pgflow.flows,
  dep_slug text not null,
  step_slug text not null,
  created_at timestamptz not null default now(),
  primary key (flow_slug, dep_slug, step_slug),
  foreign key (flow_slug, dep_slug) references pgflow.steps (flow_slug, step_slug),
  foreign key (flow_slug, step_slug) references pgflow.steps (flow_slug, step_slug),
  check (dep_slug <> step_slug)
);
create table pgflow.runs (
  run_id uuid primary key default gen_random_uuid(),
  flow_slug text not null references pgflow.flows,
  status text not null default 'started' check (status in ('started', 'completed', 'failed')),
  input jsonb not null,
  output jsonb,
  remaining_steps int not null default 0 check (remaining_steps >= 0),
  started_at timestamptz not null default now(),
  completed_at timestamptz,
  failed_at timestamptz
);
create table pgflow.step_states (
  flow_slug text not null references pgflow.flows,
  run_id uuid not null references pgflow.runs,
  step_slug text not null,
  status text not null default 'created' check (status in ('created', 'started', 'completed', 'failed', 'skipped')),
  remaining_tasks int,
  initial_tasks int check (initial_tasks >= 0),
  remaining_deps int not null default 0 check (remaining_deps >= 0),
  output jsonb,
  error_message text,
  skip_reason text,
  created_at timestamptz not null default now(),
  started_at timestamptz,
  completed_at timestamptz,
  failed_at timestamptz,
  skipped_at timestamptz,
  primary key (run_id, step_slug),
  foreign key (flow_slug, step_slug) references pgflow.steps (flow_slug, step_slug)
);
create table pgflow.workers (
  worker_id uuid primary key,
  queue_name text not null,
  function_name text not null,
  started_at timestamptz not null default now(),
  deprecated_at timestamptz,
  last_heartbeat_at timestamptz not null default now(),
  stopped_at timestamptz,
  pgflow_version text
);
create table pgflow.step_tasks (
  flow_slug text not null references pgflow.flows,
  run_id uuid not null references pgflow.runs,
  step_slug text not null,
  message_id bigint,
  task_index int not null default 0,
  status text not null default 'queued',
  attempts_count int not null default 0 check (attempts_count >= 0),
  error_message text,
  output jsonb,
  queued_at timestamptz not null default now(),
  started_at timestamptz,
  completed_at timestamptz,
  failed_at timestamptz,
  last_worker_id uuid references pgflow.workers on delete set null,
  requeued_count int not null default 0,
  last_requeued_at timestamptz,
  permanently_stalled_at timestamptz,
  constraint step_tasks_pkey primary key (run_id, step_slug, task_index),
  foreign key (run_id, step_slug) references pgflow.step_states (run_id, step_slug),
  constraint valid_status check (status in ('queued', 'started', 'completed', 'failed', 'skipped', 'cancelled')),
  constraint output_valid_only_for_completed check (output is null or status in ('completed', 'failed'))
);
create index idx_step_tasks_message_id on pgflow.step_tasks (message_id);
create table pgflow.worker_functions (
  function_name text primary key,
  enabled boolean not null default true,
  debounce interval not null default '6 seconds' check (debounce >= '1 second'),
  start_mode text not null default 'http' check (start_mode in ('http', 'process')),
  last_invoked_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create type pgflow.step_task_record as (
  flow_slug text, run_id uuid, step_slug text, input jsonb, msg_id bigint, task_index int, flow_input jsonb
);

-- Forms that ours cannot replace in place, and one of the user's own.
create function pgflow.start_tasks(flow_slug text, msg_ids bigint[], worker_id uuid)
returns setof pgflow.step_task_record language sql as $$ select null::pgflow.step_task_record where false $$;
create function pgflow.set_vt_batch(queue_name text, msg_ids bigint[], vt_offsets int[])
returns setof pgmq.message_record language sql as $$ select null::pgmq.message_record where false $$;
create function pgflow.calculate_retry_delay(base numeric, attempts int) returns int language sql as 'select 1';
create function pgflow.my_own() returns int language sql as 'select 42';

insert into pgflow.flows (flow_slug) values ('orderV1');
insert into pgflow.steps (flow_slug, step_slug, step_index, deps_count) values ('orderV1', 'load', 0, 0), ('orderV1', 'mail', 1, 1);
insert into pgflow.deps (flow_slug, dep_slug, step_slug) values ('orderV1', 'load', 'mail');
select pgmq.create('orderV1');
insert into pgflow.runs (run_id, flow_slug, input, remaining_steps, status, failed_at) values
  ('00000000-0000-4000-8000-000000000001', 'orderV1', '1', 2, 'started', null),
  ('00000000-0000-4000-8000-000000000002', 'orderV1', '2', 2, 'failed', now());
insert into pgflow.step_states (flow_slug, run_id, step_slug, status, initial_tasks, remaining_tasks, remaining_deps, started_at)
  select 'orderV1', run_id, step_slug, case step_slug when 'load' then 'started' else 'created' end, 1,
      case step_slug when 'load' then 1 end, deps_count, case step_slug when 'load' then now() end
    from pgflow.runs, pgflow.steps;
insert into pgflow.step_tasks (flow_slug, run_id, step_slug, message_id)
  select 'orderV1', run_id, 'load', pgmq.send('orderv1', to_jsonb(run_id)) from pgflow.runs order by run_id;
