-- 0003_supervised_workers: which process a worker is, how often a task has brought one down, which functions are fenced.

set local lock_timeout = '10s';

alter table pgflow.workers
  add column pid int,
  add column host_id text,
  add column revision text;

alter table pgflow.step_tasks
  add column crash_count int not null default 0;

-- Tasks that have stalled for good, for those who look after them. Only such a task has an entry.
create index idx_step_tasks_stalled on pgflow.step_tasks (permanently_stalled_at) where permanently_stalled_at is not null;

-- Orders that nothing of a set of functions may run. An order stands until it is lifted; it outlives every process.
create table pgflow.fences (
  fence_id uuid not null,
  function_names text[] not null,
  -- recorded[i]: whether function_names[i] was enabled before any fence stood around it.
  recorded boolean[] not null,
  owner text not null,
  reason text not null,
  token_hash bytea not null,
  created_at timestamptz not null default now(),
  lifted_at timestamptz,
  -- Why it was lifted without its token.
  forced_reason text,
  constraint fences_pkey primary key (fence_id)
);

-- The fences that stand. A claim looks its function up here.
create table pgflow.fenced_functions (
  function_name text not null,
  fence_id uuid not null,
  constraint fenced_functions_pkey primary key (function_name, fence_id),
  constraint fenced_functions_fence_id_fkey foreign key (fence_id) references pgflow.fences (fence_id)
);
