-- 0003_supervised_workers: which process a worker is, and how often a task has brought one down.

set local lock_timeout = '10s';

alter table pgflow.workers
  add column pid int,
  add column host_id text,
  add column revision text;

alter table pgflow.step_tasks
  add column crash_count int not null default 0;
