-- 0005_lean_tasks: the updates of a run's life stay on their pages. No index of step_tasks names its status any more (tasks
-- in hand are found through their messages), and the pages of the hot tables keep room for the versions that are to come.
-- Runs lose their foreign key: start_flows looks for the flow once for all runs of a call.

set local lock_timeout = '10s';

drop index if exists pgflow.idx_step_tasks_in_hand;
alter table pgflow.runs drop constraint if exists runs_flow_slug_fkey;
alter table pgflow.runs set (fillfactor = 50);
alter table pgflow.step_states set (fillfactor = 50);
alter table pgflow.step_tasks set (fillfactor = 50);
