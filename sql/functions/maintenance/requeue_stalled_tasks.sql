-- pgflow.requeue_stalled_tasks: the last net: give back tasks whose worker has been silent for timeout + 30 s.
-- Called by: the supervisor every 15 s, or the cron job pgflow_requeue_stalled_tasks.
-- Locks: step_tasks (skipping locked ones: it waits for no task), then queue rows.
-- Promises: three times a task goes back to its queue, visible now and without a refund of its attempt; the fourth time its
--   message is archived and the task stays `started` with permanently_stalled_at set. Returns the number given back.

create or replace function pgflow.requeue_stalled_tasks()
returns int
language plpgsql
volatile
security definer
set search_path = ''
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
  v_shown_queues text[];
  v_shown_ids bigint[];
  v_stuck_queues text[];
  v_stuck_ids bigint[];
  v_done int;
begin
  with stalled as materialized (
    -- From the tasks in hand, each looked up by its whole key, see _complete_tasks.
    select t.ctid
      from (
        select task.run_id, task.step_slug, task.task_index, task.flow_slug
          from pgflow.step_tasks task
          where task.status = 'started' and task.permanently_stalled_at is null
          offset 0
      ) in_hand
      cross join lateral (
        select from pgflow.runs run where run.run_id = in_hand.run_id and run.status = 'started' offset 0
      ) r
      cross join lateral (
        select from pgflow.step_states state
          where state.run_id = in_hand.run_id and state.step_slug = in_hand.step_slug and state.status = 'started'
          offset 0
      ) ss
      cross join lateral (
        select coalesce(step.opt_timeout, flow.opt_timeout) as timeout
          from pgflow.steps step, pgflow.flows flow
          where step.flow_slug = in_hand.flow_slug
            and step.step_slug = in_hand.step_slug
            and flow.flow_slug = in_hand.flow_slug
          offset 0
      ) s
      cross join lateral (
        select task.ctid
          from pgflow.step_tasks task
          where task.run_id = in_hand.run_id
            and task.step_slug = in_hand.step_slug
            and task.task_index = in_hand.task_index
            and task.status = 'started'
            and task.permanently_stalled_at is null
            and task.started_at < now() - make_interval(secs => s.timeout + 30)
          for no key update skip locked
      ) t
  ),
  settled as (
    update pgflow.step_tasks t
      set status = case when t.requeued_count < 3 then 'queued' else t.status end,
        started_at = case when t.requeued_count >= 3 then t.started_at end,
        last_worker_id = case when t.requeued_count >= 3 then t.last_worker_id end,
        permanently_stalled_at = case when t.requeued_count >= 3 then now() end,
        last_requeued_at = case when t.requeued_count < 3 then now() else t.last_requeued_at end,
        requeued_count = t.requeued_count + case when t.requeued_count < 3 then 1 else 0 end
      from stalled
      where t.ctid = stalled.ctid and t.status = 'started'
      returning t.queue_name, t.message_id, t.status
  )
  select
      array_agg(settled.queue_name) filter (where settled.status = 'queued'),
      array_agg(settled.message_id) filter (where settled.status = 'queued'),
      array_agg(settled.queue_name) filter (where settled.status = 'started'),
      array_agg(settled.message_id) filter (where settled.status = 'started')
    into v_shown_queues, v_shown_ids, v_stuck_queues, v_stuck_ids
    from settled;

  if v_shown_ids is not null then
    v_done := pgflow._show_messages(v_shown_queues, v_shown_ids, array_fill(0, array[cardinality(v_shown_ids)]));
  end if;
  v_done := pgflow._archive_messages(v_stuck_queues, v_stuck_ids);
  return coalesce(cardinality(v_shown_ids), 0);
end;
$$;
