-- pgflow._fail_type_violation: fail the run of a step that a map depends on and that did not return an array.
-- Called by: _complete_tasks, under the run's lock.    Locks: step_tasks, step_states, runs, queue rows.
-- Promises: the task keeps its output and fails, the run fails whatever when_exhausted says. Returns false, and changes
--   nothing, when the task is not the started attempt that the caller means.

create or replace function pgflow._fail_type_violation(
  run_id uuid,
  step_slug text,
  task_index int,
  attempt int,
  output jsonb,
  worker_id uuid
)
returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_type text := coalesce(jsonb_typeof(output), 'null');
  v_queue_name text;
  v_message_id bigint;
  v_map_slug text;
  v_done int;
begin
  update pgflow.step_tasks t
    set status = 'failed',
      failed_at = greatest(clock_timestamp(), t.started_at),
      output = _fail_type_violation.output,
      error_message = format('[TYPE_VIOLATION] Produced %s instead of array', v_type)
    from pgflow.runs r
    where t.run_id = _fail_type_violation.run_id
      and t.step_slug = _fail_type_violation.step_slug
      and t.task_index = _fail_type_violation.task_index
      and t.status = 'started'
      and t.last_worker_id is not distinct from coalesce(_fail_type_violation.worker_id, t.last_worker_id)
      and t.attempts_count = coalesce(_fail_type_violation.attempt, t.attempts_count)
      and r.run_id = t.run_id
      and r.status = 'started'
    returning t.queue_name, t.message_id into v_queue_name, v_message_id;
  if not found then
    return false;
  end if;

  select child.step_slug into v_map_slug
    from pgflow.runs r
    join pgflow.deps dep on dep.flow_slug = r.flow_slug and dep.dep_slug = _fail_type_violation.step_slug
    join pgflow.steps child on child.flow_slug = dep.flow_slug and child.step_slug = dep.step_slug
    where r.run_id = _fail_type_violation.run_id and child.step_type = 'map'
    order by child.step_index
    limit 1;

  v_done := pgflow._fail_runs(
    array[_fail_type_violation.run_id],
    array[_fail_type_violation.step_slug],
    array[format(
      '[TYPE_VIOLATION] Map step %s expects array input but dependency %s produced %s',
      v_map_slug, _fail_type_violation.step_slug, v_type
    )],
    run_first => true
  );
  v_done := pgflow._archive_messages(array[v_queue_name], array[v_message_id]);
  return true;
end;
$$;
