-- pgflow.requeue_tasks: give tasks that have stalled for good, or wait for a message that is gone, to the workers again.
-- Called by: operators, `pgflow task requeue`.    Locks: runs (ascending), step_tasks, queue rows.
-- Promises: items are objects {"run_id", "step_slug", "task_index"}. Such a task gets a new message on its own queue,
--   visible now, and may stall three times more; its attempts stay counted. One row for each item, in their order: applied,
--   already (the task is queued under its message or in somebody's hand), late (it is final, or its step or run is over),
--   unknown, malformed.
-- Refuses: items that are not an array (22023); an old snapshot (isolation_level); a queue that was
--   dropped and is still missing (queue_missing, 42P01).

create or replace function pgflow.requeue_tasks(items jsonb)
returns table (run_id uuid, step_slug text, task_index int, outcome text)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
  v_is_fresh constant boolean := pgflow._require_read_committed('requeue_tasks');
  v_run_ids uuid[];
  v_step_slugs text[];
  v_task_indexes int[];
  v_sound boolean[];
  v_outcomes text[];
  v_queue_names text[];
  v_message_ids bigint[];
  v_queue record;
begin
  select
      array_agg(item.run_id order by item.position),
      array_agg(item.step_slug order by item.position),
      array_agg(item.task_index order by item.position),
      array_agg(item.is_sound order by item.position)
    into v_run_ids, v_step_slugs, v_task_indexes, v_sound
    from pgflow._settle_items(items) item;
  perform from pgflow.runs r where r.run_id = any(v_run_ids) order by r.run_id for no key update;

  select array_agg(
      case
        when not asked.is_sound then 'malformed'
        when t.status is null then 'unknown'
        when t.status not in ('queued', 'started') or r.status <> 'started' or ss.status <> 'started' then 'late'
        when t.permanently_stalled_at is not null then 'applied'
        when t.status = 'queued' or pgflow._is_overdue(t.flow_slug, t.step_slug, t.started_at) then 'waits'
        else 'already'
      end
      order by asked.position
    ),
      array_agg(t.queue_name order by asked.position), array_agg(t.message_id order by asked.position)
    into v_outcomes, v_queue_names, v_message_ids
    from unnest(v_run_ids, v_step_slugs, v_task_indexes, v_sound) with ordinality
      as asked (run_id, step_slug, task_index, is_sound, position)
    left join pgflow.step_tasks t
      on t.run_id = asked.run_id and t.step_slug = asked.step_slug and t.task_index = asked.task_index
    left join pgflow.runs r on r.run_id = t.run_id
    left join pgflow.step_states ss on ss.run_id = t.run_id and ss.step_slug = t.step_slug;

  -- Nobody else can take a task without its message, nor give it one while we hold its run.
  v_outcomes := array(
    select case when answer.outcome <> 'waits' then answer.outcome when answer.is_lost then 'applied' else 'already' end
      from unnest(v_outcomes, pgflow._lost_messages(v_queue_names, v_message_ids)) with ordinality
        as answer (outcome, is_lost, position)
      order by answer.position
  );

  for v_queue in
    select t.queue_name as name,
        array_agg(t.run_id order by t.run_id, t.step_slug, t.task_index) as run_ids,
        array_agg(t.step_slug order by t.run_id, t.step_slug, t.task_index) as step_slugs,
        array_agg(t.task_index order by t.run_id, t.step_slug, t.task_index) as task_indexes,
        array_agg(
          jsonb_build_object(
            'flow_slug', t.flow_slug, 'run_id', t.run_id, 'step_slug', t.step_slug, 'task_index', t.task_index
          )
          order by t.run_id, t.step_slug, t.task_index
        ) as messages
      from (
        select distinct asked.run_id, asked.step_slug, asked.task_index
          from unnest(v_run_ids, v_step_slugs, v_task_indexes, v_outcomes)
            as asked (run_id, step_slug, task_index, outcome)
          where asked.outcome = 'applied'
      ) stalled
      join pgflow.step_tasks t using (run_id, step_slug, task_index)
      group by t.queue_name
      order by t.queue_name
  loop
    perform pgflow._continue_message_ids(pgflow._existing_queue(v_queue.name));
    update pgflow.step_tasks t
      set status = 'queued',
        message_id = sent.message_id,
        started_at = null,
        last_worker_id = null,
        requeued_count = 0,
        last_requeued_at = clock_timestamp(),
        permanently_stalled_at = null
      from rows from (
        unnest(v_queue.run_ids, v_queue.step_slugs, v_queue.task_indexes),
        pgmq.send_batch(v_queue.name, v_queue.messages)
      ) as sent (run_id, step_slug, task_index, message_id)
      where t.run_id = sent.run_id and t.step_slug = sent.step_slug and t.task_index = sent.task_index;
  end loop;

  return query
    select answer.run_id, answer.step_slug, answer.task_index, answer.outcome
      from unnest(v_run_ids, v_step_slugs, v_task_indexes, v_outcomes)
        as answer (run_id, step_slug, task_index, outcome);
end;
$$;
