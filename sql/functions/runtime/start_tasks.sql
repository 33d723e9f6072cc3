-- pgflow.start_tasks: claim the given messages for one worker and return their tasks.
-- Called by: workers that read their queue themselves, tests; our worker uses read_and_claim.
-- Locks: step_tasks, then queue rows; a task that another transaction holds is left to it.
-- Promises: a claimed task's message is invisible for timeout + 2 s before its row is returned; rows come by msg_id.
--   Messages of other steps, other flows or nobody are left exactly as they were.
-- Refuses: step mode without the exact step_slug of this queue, flow mode with one; nothing changes then. A transaction
--   whose snapshot is older than the call (isolation_level).

create or replace function pgflow.start_tasks(
  flow_slug text,
  msg_ids bigint[],
  worker_id uuid,
  queue_name text,
  step_slug text default null
)
returns setof pgflow.step_task_record
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
  v_is_fresh constant boolean := pgflow._require_read_committed('start_tasks');
begin
  if pgflow._claim_timeout(start_tasks.flow_slug, start_tasks.queue_name, start_tasks.step_slug) is null
    or coalesce(cardinality(msg_ids), 0) = 0
  then
    return;
  end if;
  return query
    select start_tasks.flow_slug, task.run_id, task.claimed_step_slug, task.input, task.msg_id, task.task_index,
        task.flow_input
      from pgflow._claim_tasks(
        start_tasks.flow_slug, start_tasks.queue_name, start_tasks.step_slug, start_tasks.msg_ids, start_tasks.worker_id,
        false
      ) task
      order by task.msg_id;
end;
$$;
