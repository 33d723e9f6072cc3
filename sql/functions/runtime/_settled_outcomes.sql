-- pgflow._settled_outcomes: what became of each task of a settling call; `applied` holds the positions it did settle.
-- Called by: _complete_tasks, _fail_tasks, as their last step under the run's lock.    Locks: queue rows of late tasks.
-- Promises: applied, already, superseded, late or unknown, as _complete_tasks defines them, in the order asked; the
--   leftover message of a late task is archived. Or missed: it is the caller's attempt and could be settled, but recovery
--   changed its row while the update waited for it; an update of a row by its place does not follow that. Ask again.

create or replace function pgflow._settled_outcomes(
  run_ids uuid[],
  step_slugs text[],
  task_indexes int[],
  attempts int[],
  worker_id uuid,
  applied bigint[]
)
returns text[]
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
  v_outcomes text[];
  v_late_queue_names text[];
  v_late_message_ids bigint[];
  v_done int;
begin
  if cardinality(applied) = cardinality(run_ids) then
    return array_fill('applied'::text, array[cardinality(run_ids)]);
  end if;

  with judged as (
    select a.position, t.queue_name, t.message_id,
        case
          when a.position = any(applied) then 'applied'
          when t.run_id is null then 'unknown'
          when t.last_worker_id is distinct from coalesce(_settled_outcomes.worker_id, t.last_worker_id)
            or t.attempts_count <> coalesce(a.attempt, t.attempts_count) then 'superseded'
          when t.status in ('completed', 'failed') then 'already'
          -- A failed attempt goes back to the queue and keeps its worker; every other way back forgets it.
          when t.status = 'queued' and r.status = 'started' and ss.status = 'started' then
            case when t.last_worker_id = _settled_outcomes.worker_id then 'already' else 'superseded' end
          when t.status in ('skipped', 'cancelled') or r.status <> 'started' or ss.status <> 'started' then 'late'
          else 'missed'
        end as outcome
      from unnest(run_ids, step_slugs, task_indexes, attempts) with ordinality
        as a (run_id, step_slug, task_index, attempt, position)
      left join lateral (
        select task.run_id, task.queue_name, task.message_id, task.status, task.attempts_count, task.last_worker_id
          from pgflow.step_tasks task
          where task.run_id = a.run_id and task.step_slug = a.step_slug and task.task_index = a.task_index
          offset 0
      ) t on true
      left join lateral (
        select run.status from pgflow.runs run where run.run_id = a.run_id offset 0
      ) r on true
      left join lateral (
        select state.status
          from pgflow.step_states state
          where state.run_id = a.run_id and state.step_slug = a.step_slug
          offset 0
      ) ss on true
  )
  select
      array_agg(judged.outcome order by judged.position),
      array_agg(judged.queue_name) filter (where judged.outcome = 'late'),
      array_agg(judged.message_id) filter (where judged.outcome = 'late')
    into v_outcomes, v_late_queue_names, v_late_message_ids
    from judged;

  v_done := pgflow._archive_messages(v_late_queue_names, v_late_message_ids);
  return v_outcomes;
end;
$$;
