-- 0004_supervisors, undone: nobody writes down which supervisors live. Those that do say it again after the way up, and
-- acknowledge again the fences that stand.

set local lock_timeout = '10s';
drop table pgflow.fence_acks, pgflow.supervisors;
