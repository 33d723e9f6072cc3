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
    select t.run_id, t.step_slug, t.task_index
      from pgflow.step_tasks t
      join pgflow.runs r on r.run_id = t.run_id
      join pgflow.step_states ss on ss.run_id = t.run_id and ss.step_slug = t.step_slug
      join pgflow.steps s on s.flow_slug = t.flow_slug and s.step_slug = t.step_slug
      join pgflow.flows f on f.flow_slug = t.flow_slug
      where t.status = 'started'
        and t.permanently_stalled_at is null
        and t.started_at < now() - make_interval(secs => coalesce(s.opt_timeout, f.opt_timeout) + 30)
        and r.status = 'started'
        and ss.status = 'started'
      order by t.run_id, t.step_slug, t.task_index
      for no key update of t skip locked
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
      where t.run_id = stalled.run_id
        and t.step_slug = stalled.step_slug
        and t.task_index = stalled.task_index
        and t.status = 'started'
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
