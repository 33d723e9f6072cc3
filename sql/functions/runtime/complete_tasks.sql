-- pgflow.complete_tasks: complete many tasks in one transaction and say what became of each.
-- Called by: store::TaskStore, with everything that has ended since the last call.    Locks: as _complete_tasks.
-- Promises: items are objects {"run_id", "step_slug", "task_index", "attempt"?, "output"?}; a missing output is SQL NULL,
--   `null` is JSON null. One row for each item, in their order, with an outcome as _complete_tasks defines them, or
--   `malformed`, which spoils no other item: asked twice after a lost answer, the second call says `already`. worker_id
--   and attempt are the fence of a zombie.
-- Refuses: items that are not an array (22023).

create or replace function pgflow.complete_tasks(items jsonb, worker_id uuid default null)
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
  v_outputs jsonb[];
  v_sound boolean[];
  v_readable boolean := true;
begin
  begin
    select
        array_agg((item.body ->> 'run_id')::uuid order by item.position),
        array_agg(item.body ->> 'step_slug' order by item.position),
        array_agg((item.body ->> 'task_index')::int order by item.position),
        array_agg((item.body ->> 'attempt')::int order by item.position),
        array_agg(item.body -> 'output' order by item.position),
        bool_and(pgflow._is_settle_item(item.body))
      into v_run_ids, v_step_slugs, v_task_indexes, v_attempts, v_outputs, v_readable
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
        array_agg(item.body -> 'output' order by item.position),
        array_agg(item.is_sound order by item.position)
      into v_run_ids, v_step_slugs, v_task_indexes, v_attempts, v_outputs, v_sound
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
        pgflow._complete_tasks(v_run_ids, v_step_slugs, v_task_indexes, v_attempts, v_outputs, complete_tasks.worker_id)
      ) as settled (run_id, step_slug, task_index, is_sound, outcome);
end;
$$;
