-- 0001_baseline: the tables as pgflow 0.16 has them. A flow has one queue, lower(flow_slug), and a task knows its message
-- by the id alone.
--
-- The hot tables (runs, step_states, step_tasks) keep few indexes on purpose: an update that touches no indexed column
-- stays on its page, and a row's life is many updates. They have no foreign keys among each other either: a probe for
-- every row doubles the cost of spawning a map's tasks. Their rows are written and deleted by functions that lock the run
-- first, and a run cannot outlive its flow. Names of constraints that errors show are part of the API.

create schema pgflow;
revoke all on schema pgflow from public;

-- Definitions ---------------------------------------------------------------------------------------------------------

create table pgflow.flows (
  flow_slug text not null,
  opt_max_attempts int not null default 3,
  opt_base_delay int not null default 1,
  opt_timeout int not null default 60,
  created_at timestamptz not null default now(),
  constraint flows_pkey primary key (flow_slug),
  constraint slug_is_valid check (
    flow_slug collate "C" ~ '^[a-zA-Z_][a-zA-Z0-9_]*$' and length(flow_slug) <= 128 and flow_slug <> 'run'
  ),
  constraint opt_max_attempts_is_nonnegative check (opt_max_attempts >= 0),
  constraint opt_base_delay_is_nonnegative check (opt_base_delay >= 0),
  constraint opt_timeout_is_positive check (opt_timeout > 0)
);

create table pgflow.steps (
  flow_slug text not null,
  step_slug text not null,
  step_type text not null default 'single',
  step_index int not null default 0,
  deps_count int not null default 0,
  opt_max_attempts int,
  opt_base_delay int,
  opt_start_delay int,
  opt_timeout int,
  required_input_pattern jsonb,
  forbidden_input_pattern jsonb,
  when_unmet text not null default 'skip',
  when_exhausted text not null default 'fail',
  created_at timestamptz not null default now(),
  constraint steps_pkey primary key (flow_slug, step_slug),
  constraint steps_flow_slug_step_index_key unique (flow_slug, step_index),
  constraint steps_flow_slug_fkey foreign key (flow_slug) references pgflow.flows (flow_slug),
  constraint steps_step_slug_check check (
    step_slug collate "C" ~ '^[a-zA-Z_][a-zA-Z0-9_]*$' and length(step_slug) <= 128 and step_slug <> 'run'
  ),
  constraint steps_step_type_check check (step_type in ('single', 'map')),
  constraint steps_deps_count_check check (deps_count >= 0),
  constraint opt_max_attempts_is_nonnegative check (opt_max_attempts >= 0),
  constraint opt_base_delay_is_nonnegative check (opt_base_delay >= 0),
  constraint opt_start_delay_is_nonnegative check (opt_start_delay >= 0),
  constraint opt_timeout_is_positive check (opt_timeout > 0),
  constraint required_input_pattern_is_object check (jsonb_typeof(required_input_pattern) = 'object'),
  constraint forbidden_input_pattern_is_object check (jsonb_typeof(forbidden_input_pattern) = 'object'),
  constraint when_unmet_is_valid check (when_unmet in ('fail', 'skip', 'skip-cascade')),
  constraint when_exhausted_is_valid check (when_exhausted in ('fail', 'skip', 'skip-cascade'))
);

create table pgflow.deps (
  flow_slug text not null,
  dep_slug text not null,
  step_slug text not null,
  created_at timestamptz not null default now(),
  constraint deps_pkey primary key (flow_slug, dep_slug, step_slug),
  constraint deps_flow_slug_fkey foreign key (flow_slug) references pgflow.flows (flow_slug),
  constraint deps_flow_slug_dep_slug_fkey foreign key (flow_slug, dep_slug)
    references pgflow.steps (flow_slug, step_slug),
  constraint deps_flow_slug_step_slug_fkey foreign key (flow_slug, step_slug)
    references pgflow.steps (flow_slug, step_slug),
  constraint deps_check check (dep_slug <> step_slug)
);

create index idx_deps_by_flow_step on pgflow.deps (flow_slug, step_slug);

-- Runs ----------------------------------------------------------------------------------------------------------------

create table pgflow.runs (
  -- UUID version 7: the first 48 bits are the time in milliseconds, so that the rows of one period lie side by side in
  -- every index that starts with run_id. Any other uuid is as valid.
  run_id uuid not null default encode(
    set_bit(
      set_bit(
        overlay(
          uuid_send(gen_random_uuid())
          placing substring(int8send(floor(extract(epoch from clock_timestamp()) * 1000)::bigint) from 3)
          from 1 for 6
        ),
        52, 1
      ),
      53, 1
    ),
    'hex'
  )::uuid,
  flow_slug text not null,
  status text not null default 'started',
  input jsonb not null,
  output jsonb,
  remaining_steps int not null default 0,
  started_at timestamptz not null default now(),
  completed_at timestamptz,
  failed_at timestamptz,
  constraint runs_pkey primary key (run_id),
  constraint runs_flow_slug_fkey foreign key (flow_slug) references pgflow.flows (flow_slug),
  constraint status_is_valid check (status in ('started', 'completed', 'failed')),
  constraint remaining_steps_is_nonnegative check (remaining_steps >= 0),
  constraint runs_end_is_consistent check (
    (completed_at is null or failed_at is null) and completed_at >= started_at and failed_at >= started_at
  )
) with (fillfactor = 90);

-- Serves the list of a flow's runs, deletion by flow, and pruning: a run that ended before a moment started before it.
create index idx_runs_flow_started on pgflow.runs (flow_slug, started_at);

create table pgflow.step_states (
  flow_slug text not null,
  run_id uuid not null,
  step_slug text not null,
  status text not null default 'created',
  remaining_tasks int,
  initial_tasks int,
  remaining_deps int not null default 0,
  output jsonb,
  error_message text,
  skip_reason text,
  created_at timestamptz not null default now(),
  started_at timestamptz,
  completed_at timestamptz,
  failed_at timestamptz,
  skipped_at timestamptz,
  constraint step_states_pkey primary key (run_id, step_slug),
  constraint status_is_valid check (status in ('created', 'started', 'completed', 'failed', 'skipped')),
  constraint step_states_counters_check check (
    remaining_deps >= 0
    and initial_tasks >= 0
    and case status
      when 'created' then remaining_tasks is null
      when 'skipped' then remaining_tasks is null
      when 'started' then initial_tasks is not null
      when 'completed' then remaining_tasks = 0
      else true
    end
  ),
  constraint output_only_when_completed check (output is null or status = 'completed'),
  constraint skip_reason_matches_status check ((skip_reason is not null) = (status = 'skipped')),
  constraint step_states_times_check check (
    num_nonnulls(completed_at, failed_at, skipped_at) <= 1
    and started_at >= created_at
    and completed_at >= started_at
    and failed_at >= started_at
    and skipped_at >= created_at
  )
) with (fillfactor = 80);

create table pgflow.step_tasks (
  flow_slug text not null,
  run_id uuid not null,
  step_slug text not null,
  task_index int not null default 0,
  message_id bigint,
  status text not null default 'queued',
  attempts_count int not null default 0,
  error_message text,
  output jsonb,
  queued_at timestamptz not null default now(),
  started_at timestamptz,
  completed_at timestamptz,
  failed_at timestamptz,
  last_worker_id uuid,
  requeued_count int not null default 0,
  last_requeued_at timestamptz,
  permanently_stalled_at timestamptz,
  constraint step_tasks_pkey primary key (run_id, step_slug, task_index),
  constraint valid_status check (status in ('queued', 'started', 'completed', 'failed', 'skipped', 'cancelled')),
  constraint attempts_count_nonnegative check (attempts_count >= 0),
  constraint output_valid_only_for_completed check (output is null or status in ('completed', 'failed')),
  constraint step_tasks_times_check check (
    (completed_at is null or failed_at is null)
    and started_at >= queued_at
    and completed_at >= started_at
    and failed_at >= started_at
  )
) with (fillfactor = 80);

create index idx_step_tasks_message_id on pgflow.step_tasks (message_id) where message_id is not null;

-- The tasks in hand, and nothing else: recovery, the release of a dead worker and the drain check read it. It is the one
-- index that names a status; it holds as many rows as handlers are running.
create index idx_step_tasks_in_hand on pgflow.step_tasks (last_worker_id)
  where status = 'started' and permanently_stalled_at is null;

-- Workers -------------------------------------------------------------------------------------------------------------

-- step_tasks.last_worker_id has no foreign key: a probe per claimed task would lock the worker's row each time. The claim
-- checks its worker once and raises 23503 with the name step_tasks_last_worker_id_fkey.
create table pgflow.workers (
  worker_id uuid not null,
  queue_name text not null,
  function_name text not null,
  started_at timestamptz not null default now(),
  deprecated_at timestamptz,
  last_heartbeat_at timestamptz not null default now(),
  stopped_at timestamptz,
  constraint workers_pkey primary key (worker_id)
) with (fillfactor = 50);

create index idx_workers_queue_name on pgflow.workers (queue_name);
create index idx_workers_last_heartbeat_at on pgflow.workers (last_heartbeat_at);

create table pgflow.worker_functions (
  function_name text not null,
  enabled boolean not null default true,
  debounce interval not null default interval '6 seconds',
  start_mode text not null default 'http',
  last_invoked_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint worker_functions_pkey primary key (function_name),
  constraint worker_functions_debounce_check check (debounce >= interval '1 second'),
  constraint worker_functions_start_mode_check check (start_mode in ('http', 'process'))
);

-- What a claim returns. The order of the fields is part of the API.
create type pgflow.step_task_record as (
  flow_slug text,
  run_id uuid,
  step_slug text,
  input jsonb,
  msg_id bigint,
  task_index int,
  flow_input jsonb
);
