-- pgflow._requeue_stalled: give back these stalled attempts of one queue, or give them up after three times.
-- Called by: requeue_stalled_tasks.    Locks: step_tasks (skipping locked ones), then queue rows.
-- Promises: a task that was settled or claimed anew since it was found is left alone. Returns the number given back.

create or replace function pgflow._requeue_stalled(
  run_ids uuid[],
  step_slugs text[],
  task_indexes int[],
  started_at timestamptz[]
)
returns int
language plpgsql
set search_path = pg_catalog, pg_temp
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
    select t.ctid
      from unnest(run_ids, step_slugs, task_indexes, _requeue_stalled.started_at)
        as found (run_id, step_slug, task_index, started_at)
      cross join lateral (
        select task.ctid
          from pgflow.step_tasks task
          where task.run_id = found.run_id
            and task.step_slug = found.step_slug
            and task.task_index = found.task_index
            and task.status = 'started'
            and task.permanently_stalled_at is null
            and task.started_at = found.started_at
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
