-- pgflow.check_integrity: what of the newest runs breaks an invariant of the engine (sql-core 1.7). No row: all is well.
-- Called by: operators, `pgflow doctor`; proves on a live database what no foreign key and no trigger checks.    Locks: none.
-- Promises: the max_runs newest runs, of one flow or of all, their steps, tasks and messages, as one moment shows them; and of the
--   10 * max_runs newest steps and tasks of all flows those that have lost their run or step. The cost grows with that, not with
--   the database.
--   1 a failed run has no unfinished task       5 an unfinished task has its message in its queue, a final one has not
--   2 a step that is over has none either       6 a task's queue is its step's
--   3 remaining_tasks of a started step         7 a task that was begun has an attempt
--   4 remaining_steps of a run                  8 a run has its flow, a step its run, a task its step

create or replace function pgflow.check_integrity(p_flow_slug text default null, max_runs int default 1000)
returns table (
  invariant int,
  flow_slug text,
  run_id uuid,
  step_slug text,
  task_index int,
  problem text
)
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_run_ids uuid[];
begin
  if max_runs is null or max_runs < 0 then
    perform pgflow._refuse_argument('check_integrity', 'max_runs', max_runs::text, 'a number of runs, 0 or more');
  end if;
  if p_flow_slug is null then
    v_run_ids := array(select r.run_id from pgflow.runs r order by r.run_id desc limit max_runs);
  else
    v_run_ids := array(
      select r.run_id from pgflow.runs r where r.flow_slug = p_flow_slug order by r.started_at desc limit max_runs
    );
  end if;

  return query
    select 1, t.flow_slug, t.run_id, t.step_slug, t.task_index, format('The run failed, its task is %s.', t.status)
      from pgflow.runs r
      join pgflow.step_tasks t on t.run_id = r.run_id
      where r.run_id = any(v_run_ids) and r.status = 'failed' and t.status in ('queued', 'started');
  return query
    select 2, t.flow_slug, t.run_id, t.step_slug, t.task_index, format('The step is %s, its task %s.', ss.status, t.status)
      from pgflow.step_states ss
      join pgflow.step_tasks t on t.run_id = ss.run_id and t.step_slug = ss.step_slug
      where ss.run_id = any(v_run_ids)
        and (
          ss.status in ('skipped', 'completed') and t.status in ('queued', 'started')
          or ss.status = 'completed' and t.status <> 'completed'
        );
  return query
    select 3, ss.flow_slug, ss.run_id, ss.step_slug, null::int, format(
        'remaining_tasks is %s; of %s tasks %s are completed.', coalesce(ss.remaining_tasks::text, 'NULL'), ss.initial_tasks,
        completed.tasks
      )
      from pgflow.step_states ss
      cross join lateral (
        select count(*) as tasks
          from pgflow.step_tasks t
          where t.run_id = ss.run_id and t.step_slug = ss.step_slug and t.status = 'completed'
      ) completed
      where ss.run_id = any(v_run_ids)
        and ss.status = 'started'
        and ss.remaining_tasks is distinct from ss.initial_tasks - completed.tasks;
  return query
    select 4, r.flow_slug, r.run_id, null, null::int, format(
        'The run is %s, remaining_steps is %s; %s of its steps are not over.', r.status, r.remaining_steps, open.steps
      )
      from pgflow.runs r
      cross join lateral (
        select count(*) as steps
          from pgflow.step_states ss
          where ss.run_id = r.run_id and ss.status in ('created', 'started', 'failed')
      ) open
      where r.run_id = any(v_run_ids) and (r.remaining_steps <> open.steps or r.status = 'completed' and open.steps <> 0);
  return query
    select 5, x.flow_slug, x.run_id, x.step_slug, x.task_index, format(
        'The task is %s, its message %s in queue "%s" %s.', x.status, coalesce(x.message_id::text, 'NULL'), x.queue_name,
        case when x.is_lost then 'is not there' else 'is still there' end
      )
      from (
        select array_agg(t.flow_slug) as flow_slugs, array_agg(t.run_id) as run_ids, array_agg(t.step_slug) as step_slugs,
            array_agg(t.task_index) as task_indexes, array_agg(t.status) as statuses, array_agg(t.queue_name) as queue_names,
            array_agg(t.message_id) as message_ids,
            array_agg(t.status in ('queued', 'started') and t.permanently_stalled_at is null) as waiting
          from pgflow.step_tasks t
          where t.run_id = any(v_run_ids)
      ) tasks
      cross join lateral unnest(
        tasks.flow_slugs, tasks.run_ids, tasks.step_slugs, tasks.task_indexes, tasks.statuses, tasks.queue_names,
        tasks.message_ids, tasks.waiting, pgflow._lost_messages(tasks.queue_names, tasks.message_ids)
      ) as x (flow_slug, run_id, step_slug, task_index, status, queue_name, message_id, waits, is_lost)
      where x.waits = x.is_lost;
  return query
    select 6, t.flow_slug, t.run_id, t.step_slug, t.task_index, format(
        'The task is on queue "%s", its step on "%s".', t.queue_name, s.queue_name
      )
      from pgflow.step_tasks t
      left join pgflow.steps s on s.flow_slug = t.flow_slug and s.step_slug = t.step_slug
      where t.run_id = any(v_run_ids) and t.queue_name is distinct from s.queue_name;
  return query
    select 7, t.flow_slug, t.run_id, t.step_slug, t.task_index, format('The task is %s without an attempt.', t.status)
      from pgflow.step_tasks t
      where t.run_id = any(v_run_ids) and t.status in ('started', 'completed', 'failed') and t.attempts_count = 0;
  return query
    select 8, r.flow_slug, r.run_id, null, null::int, 'The run has no flow.'
      from pgflow.runs r
      where r.run_id = any(v_run_ids) and not exists (select from pgflow.flows f where f.flow_slug = r.flow_slug);
  -- From the newest rows down: ids need not follow time, so there is no oldest one at which to stop.
  return query
    select 8, ss.flow_slug, ss.run_id, ss.step_slug, null::int, 'The step has no run.'
      from (select newest.* from pgflow.step_states newest order by newest.run_id desc limit 10 * max_runs::bigint) ss
      where (p_flow_slug is null or ss.flow_slug = p_flow_slug)
        and not exists (select from pgflow.runs r where r.run_id = ss.run_id);
  return query
    select 8, t.flow_slug, t.run_id, t.step_slug, t.task_index, 'The task has no step.'
      from (select newest.* from pgflow.step_tasks newest order by newest.run_id desc limit 10 * max_runs::bigint) t
      where (p_flow_slug is null or t.flow_slug = p_flow_slug)
        and not exists (select from pgflow.step_states ss where ss.run_id = t.run_id and ss.step_slug = t.step_slug);
end;
$$;
