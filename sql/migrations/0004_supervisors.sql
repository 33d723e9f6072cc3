-- 0004_supervisors: which supervisors live, what each runs, and which fences it has obeyed.

set local lock_timeout = '10s';

-- One row for each start of a supervisor.
create table pgflow.supervisors (
  generation uuid not null,
  name text not null,
  host_id text not null,
  pid int not null,
  -- The worker functions of its pools.
  function_names text[] not null,
  started_at timestamptz not null default now(),
  last_seen_at timestamptz not null default now(),
  stopped_at timestamptz,
  constraint supervisors_pkey primary key (generation)
);

-- Nothing of the fence's functions runs at this supervisor any more.
create table pgflow.fence_acks (
  fence_id uuid not null,
  generation uuid not null,
  acked_at timestamptz not null default now(),
  constraint fence_acks_pkey primary key (fence_id, generation),
  constraint fence_acks_fence_id_fkey foreign key (fence_id) references pgflow.fences (fence_id),
  constraint fence_acks_generation_fkey foreign key (generation) references pgflow.supervisors (generation) on delete cascade
);
