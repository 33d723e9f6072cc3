-- 0005_lean_tasks, undone: tasks in hand have their index again, runs their foreign key, and pages are filled as before.

set local lock_timeout = '10s';

create index idx_step_tasks_in_hand on pgflow.step_tasks (last_worker_id)
  where status = 'started' and permanently_stalled_at is null;
alter table pgflow.runs
  add constraint runs_flow_slug_fkey foreign key (flow_slug) references pgflow.flows (flow_slug);
alter table pgflow.runs set (fillfactor = 90);
alter table pgflow.step_states set (fillfactor = 80);
alter table pgflow.step_tasks set (fillfactor = 80);
