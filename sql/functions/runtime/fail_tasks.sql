-- pgflow.fail_tasks: record many failed attempts in one transaction and say what became of each.
-- Called by: store::TaskStore.    Locks: as _fail_tasks.
-- Promises: items are objects {"run_id", "step_slug", "task_index", "attempt"?, "error", "permanent"?}; a permanent failure
--   is not retried. One row for each item, in their order, with an outcome as complete_tasks tells them; `applied` says
--   that the failure was recorded, the task itself may be queued again.
-- Refuses: items that are not an array (22023).

create or replace function pgflow.fail_tasks(items jsonb, worker_id uuid default null)
returns table (run_id uuid, step_slug text, task_index int, outcome text)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
  v_run_ids uuid[];
  v_step_slugs text[];
  v_task_indexes int[];
  v_attempts int[];
  v_errors text[];
  v_permanents boolean[];
  v_sound boolean[];
  v_readable boolean := true;
begin
  begin
    select
        array_agg((item.body ->> 'run_id')::uuid order by item.position),
        array_agg(item.body ->> 'step_slug' order by item.position),
        array_agg((item.body ->> 'task_index')::int order by item.position),
        array_agg((item.body ->> 'attempt')::int order by item.position),
        array_agg(item.body ->> 'error' order by item.position),
        array_agg((item.body ->> 'permanent')::boolean order by item.position),
        bool_and(pgflow._is_settle_item(item.body))
      into v_run_ids, v_step_slugs, v_task_indexes, v_attempts, v_errors, v_permanents, v_readable
      from jsonb_array_elements(items) with ordinality as item (body, position);
  exception when data_exception then
    v_readable := false;
  end;
  if v_readable is not true then
    select
        array_agg(item.run_id order by item.position),
        array_agg(item.step_slug order by item.position),
        array_agg(item.task_index order by item.position),
        array_agg(item.attempt order by item.position),
        array_agg(item.body ->> 'error' order by item.position),
        array_agg(case when item.is_sound then (item.body ->> 'permanent')::boolean end order by item.position),
        array_agg(item.is_sound order by item.position)
      into v_run_ids, v_step_slugs, v_task_indexes, v_attempts, v_errors, v_permanents, v_sound
      from pgflow._settle_items(items) item;
  end if;

  if v_run_ids is null then
    return;
  end if;
  return query
    select settled.run_id, settled.step_slug, settled.task_index,
        case when settled.is_sound is false then 'malformed' else settled.outcome end
      from unnest(
        v_run_ids, v_step_slugs, v_task_indexes, v_sound,
        pgflow._fail_tasks(
          v_run_ids, v_step_slugs, v_task_indexes, v_attempts, v_errors, v_permanents, fail_tasks.worker_id
        )
      ) as settled (run_id, step_slug, task_index, is_sound, outcome);
end;
$$;
