-- pgflow._complete_tasks: complete tasks and carry their runs on.
-- Called by: complete_task (one task, no fence), complete_tasks (many).
-- Locks: runs (ascending), step_tasks, queue rows, step_states. The rule of all settling: whoever waits for a task row holds
--   its run; claim and recovery take task rows without a run but wait for none. So no two of them can wait in a circle.
-- Promises: outcomes[i] tells what became of (run_ids[i], step_slugs[i], task_indexes[i]):
--   applied     this call completed it (a type violation counts: the task is failed with its output, the run fails)
--   already     this attempt had been settled before
--   superseded  the task is not, or no longer, this worker's attempt; not applied
--   late        its step or run is over; its leftover message is archived
--   unknown     there is no such task
--   A NULL worker_id or attempts[i] asks for no fence.
--
-- Every end is `greatest` of now and its beginning: a server's clock may step back, and a result must not be refused for it.
-- Here and in its neighbours a row is looked up through `lateral (… offset 0)`, by its whole key, and updated through the
-- ctid found: whatever the planner believes. A plan made while the tables were empty is kept for the session; as a plain
-- join it reads a hot table from end to end for each task once it has grown. A call is written `v_done := f()`: PL/pgSQL evaluates an assignment
-- without starting a statement.

create or replace function pgflow._complete_tasks(
  run_ids uuid[],
  step_slugs text[],
  task_indexes int[],
  attempts int[],
  outputs jsonb[],
  worker_id uuid
)
returns text[]
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
  v_applied bigint[];
  v_violations bigint[];
  v_position bigint;
  v_ended_run_ids uuid[];
  v_ended_step_slugs text[];
  v_map_run_ids uuid[];
  v_map_step_slugs text[];
  v_outcomes text[];
  v_done int;
begin
  perform from pgflow.runs r where r.run_id = any(run_ids) order by r.run_id for no key update;

  -- A started task's run and step are started: whatever ends them takes their tasks along, under the run's lock.
  with found as materialized (
    select t.ctid, t.flow_slug, a.run_id, a.step_slug, a.attempt, a.output, a.position
      from unnest(run_ids, step_slugs, task_indexes, attempts, outputs) with ordinality
        as a (run_id, step_slug, task_index, attempt, output, position)
      cross join lateral (
        select task.ctid, task.flow_slug
          from pgflow.step_tasks task
          where task.run_id = a.run_id
            and task.step_slug = a.step_slug
            and task.task_index = a.task_index
            and task.status = 'started'
          offset 0
      ) t
  ),
  definition as materialized (
    select named.flow_slug, named.step_slug, s.step_type, s.step_index,
        s.step_type = 'single'
        and exists (
          select
            from pgflow.deps dep
            join pgflow.steps child on child.flow_slug = dep.flow_slug and child.step_slug = dep.step_slug
            where dep.flow_slug = named.flow_slug and dep.dep_slug = named.step_slug and child.step_type = 'map'
        ) as feeds_map
      from (select distinct found.flow_slug, found.step_slug from found) named
      cross join lateral (
        select step.step_type, step.step_index
          from pgflow.steps step
          where step.flow_slug = named.flow_slug and step.step_slug = named.step_slug
          offset 0
      ) s
  ),
  asked as materialized (
    select found.ctid, found.attempt, found.output, found.position, definition.step_type, definition.step_index,
        definition.feeds_map
        and jsonb_typeof(found.output) is distinct from 'array'
        and exists (
          select
            from pgflow.deps dep
            cross join lateral (
              select step.step_type
                from pgflow.steps step
                where step.flow_slug = dep.flow_slug and step.step_slug = dep.step_slug
                offset 0
            ) child
            cross join lateral (
              select state.initial_tasks
                from pgflow.step_states state
                where state.run_id = found.run_id and state.step_slug = dep.step_slug
                offset 0
            ) waiting
            where dep.flow_slug = found.flow_slug
              and dep.dep_slug = found.step_slug
              and child.step_type = 'map'
              and waiting.initial_tasks is null
        ) as violates
      from found
      join definition on definition.flow_slug = found.flow_slug and definition.step_slug = found.step_slug
  ),
  completed as (
    update pgflow.step_tasks t
      set status = 'completed', completed_at = greatest(clock_timestamp(), t.started_at), output = asked.output
      from asked
      where not asked.violates
        and t.ctid = asked.ctid
        and t.status = 'started'
        and t.last_worker_id is not distinct from coalesce(_complete_tasks.worker_id, t.last_worker_id)
        and t.attempts_count = coalesce(asked.attempt, t.attempts_count)
      returning t.run_id, t.step_slug, t.queue_name, t.message_id, t.output, asked.position, asked.step_type,
        asked.step_index
  ),
  counts as (
    select completed.run_id, completed.step_slug, completed.step_type, completed.step_index, count(*)::int as tasks,
        (array_agg(completed.output) filter (where completed.step_type = 'single'))[1] as output
      from completed
      group by completed.run_id, completed.step_slug, completed.step_type, completed.step_index
  ),
  counted as (
    update pgflow.step_states ss
      set remaining_tasks = ss.remaining_tasks - counts.tasks,
        status = case when ss.remaining_tasks = counts.tasks then 'completed' else ss.status end,
        completed_at = case when ss.remaining_tasks = counts.tasks then greatest(clock_timestamp(), ss.started_at) end,
        output = case when ss.remaining_tasks = counts.tasks then counts.output end
      from counts
      cross join lateral (
        select state.ctid
          from pgflow.step_states state
          where state.run_id = counts.run_id and state.step_slug = counts.step_slug
          offset 0
      ) found
      where ss.ctid = found.ctid
      returning ss.run_id, ss.step_slug, ss.status, counts.step_type, counts.step_index
  ),
  ended as (
    select
        array_agg(counted.run_id order by counted.run_id, counted.step_index) as run_ids,
        array_agg(counted.step_slug order by counted.run_id, counted.step_index) as step_slugs,
        array_agg(counted.run_id) filter (where counted.step_type = 'map') as map_run_ids,
        array_agg(counted.step_slug) filter (where counted.step_type = 'map') as map_step_slugs
      from counted
      where counted.status = 'completed'
  ),
  archived as (
    select count(*)
      from (
        select completed.queue_name, array_agg(completed.message_id order by completed.message_id) as ids
          from completed
          group by completed.queue_name
          order by completed.queue_name
          offset 0
      ) batch
      cross join lateral pgmq.archive(batch.queue_name, batch.ids)
      where pgflow._queue_exists(batch.queue_name)
  )
  select
      (select array_agg(completed.position) from completed),
      (select array_agg(asked.position order by asked.position) from asked where asked.violates),
      ended.run_ids, ended.step_slugs, ended.map_run_ids, ended.map_step_slugs
    into v_applied, v_violations, v_ended_run_ids, v_ended_step_slugs, v_map_run_ids, v_map_step_slugs
    from ended, archived;

  if v_map_run_ids is not null then
    update pgflow.step_states ss
      set output = (
        select jsonb_agg(t.output order by t.task_index)
          from pgflow.step_tasks t
          where t.run_id = ss.run_id and t.step_slug = ss.step_slug
      )
      from unnest(v_map_run_ids, v_map_step_slugs) as ended (run_id, step_slug)
      where ss.run_id = ended.run_id and ss.step_slug = ended.step_slug;
  end if;

  if v_ended_run_ids is not null then
    if pgflow._emits() then
      v_done := pgflow._emit_steps(v_ended_run_ids, v_ended_step_slugs);
    end if;
    v_done := pgflow._advance_runs(v_ended_run_ids, v_ended_step_slugs);
  end if;

  if v_violations is not null then
    foreach v_position in array v_violations loop
      if pgflow._fail_type_violation(
        run_ids[v_position], step_slugs[v_position], task_indexes[v_position], attempts[v_position],
        outputs[v_position], _complete_tasks.worker_id
      ) then
        v_applied := v_applied || v_position;
      end if;
    end loop;
  end if;

  v_outcomes := pgflow._settled_outcomes(
    run_ids, step_slugs, task_indexes, attempts, _complete_tasks.worker_id, v_applied
  );
  -- Once more, one by one: what recovery changed under the update, see _settled_outcomes.
  v_position := array_position(v_outcomes, 'missed');
  while v_position is not null loop
    v_outcomes[v_position] := (pgflow._complete_tasks(
      run_ids[v_position:v_position], step_slugs[v_position:v_position], task_indexes[v_position:v_position],
      attempts[v_position:v_position], outputs[v_position:v_position], _complete_tasks.worker_id
    ))[1];
    v_position := array_position(v_outcomes, 'missed');
  end loop;
  return v_outcomes;
end;
$$;
