-- pgflow.requeue_stalled_tasks: the last net: give back tasks whose worker has been silent for timeout + 30 s.
-- Called by: the supervisor every 15 s, or the cron job pgflow_requeue_stalled_tasks.
-- Locks: step_tasks (skipping locked ones: it waits for no task), then queue rows; queue after queue.
-- Promises: three times a task goes back to its queue, visible now and without a refund of its attempt; the fourth time its
--   message is archived and the task stays `started` with permanently_stalled_at set. Returns the number given back. A queue
--   that somebody dropped needs no message: its tasks go back all the same, and stalled_tasks lists them (decision 0004).
--   A queue that cannot be written is a warning: its tasks stay as they are, all others recover.

create or replace function pgflow.requeue_stalled_tasks()
returns int
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
  v_stalled record;
  v_requeued int := 0;
begin
  for v_stalled in
    -- From the tasks in hand, each looked up by its whole key, see _complete_tasks.
    select in_hand.queue_name,
        array_agg(in_hand.run_id) as run_ids,
        array_agg(in_hand.step_slug) as step_slugs,
        array_agg(in_hand.task_index) as task_indexes,
        array_agg(in_hand.started_at) as started_at
      from pgflow._tasks_in_hand(array(select distinct step.queue_name from pgflow.steps step)) in_hand
      cross join lateral (
        select from pgflow.runs run where run.run_id = in_hand.run_id and run.status = 'started' offset 0
      ) r
      cross join lateral (
        select from pgflow.step_states state
          where state.run_id = in_hand.run_id and state.step_slug = in_hand.step_slug and state.status = 'started'
          offset 0
      ) ss
      where pgflow._is_overdue(in_hand.flow_slug, in_hand.step_slug, in_hand.started_at)
      group by in_hand.queue_name
      order by in_hand.queue_name
  loop
    begin
      v_requeued := v_requeued + pgflow._requeue_stalled(
        v_stalled.run_ids, v_stalled.step_slugs, v_stalled.task_indexes, v_stalled.started_at
      );
    exception when others then
      raise warning using
        message = format('Stalled tasks of queue "%s" were not given back: %s', v_stalled.queue_name, sqlerrm),
        hint = 'Mend the tables of this queue in schema pgmq; they are tried again at the next call.';
    end;
  end loop;
  return v_requeued;
end;
$$;
