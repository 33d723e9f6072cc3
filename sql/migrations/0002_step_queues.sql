-- 0002_step_queues: a step knows its queue, a task keeps the queue it was sent to, and a message is known by the pair
-- (queue_name, message_id). A flow chooses one queue for all steps or one for each; existing flows keep their one queue.
-- Slugs obey the rules that make generated names unambiguous.
--
-- Nothing is renamed, moved or deleted: a database with an offending definition is left exactly as it was, and the error
-- names every offender at once. Columns that an adopted database has already are checked like new ones.

set local lock_timeout = '10s';

-- The locks first: what is checked below stays so.
alter table pgflow.flows add column if not exists queue_mode text not null default 'flow';
alter table pgflow.steps add column if not exists queue_name text;
alter table pgflow.step_tasks add column if not exists queue_name text;

do $$
declare
  v_rule constant text := '^[a-zA-Z](_?[a-zA-Z0-9])*$';
  v_offenders text;
  v_count int;
begin
  select string_agg(offender.text, E'\n' order by offender.flow_slug, offender.rank, offender.text), count(*)
    into v_offenders, v_count
    from (
      select f.flow_slug, 0 as rank, format('flow "%s"', f.flow_slug) as text
        from pgflow.flows f
        where f.flow_slug collate "C" !~ v_rule
      union all
      select min(f.flow_slug), 0, format(
          'flows %s differ in case only', string_agg(format('"%s"', f.flow_slug), ', ' order by f.flow_slug collate "C")
        )
        from pgflow.flows f
        group by lower(f.flow_slug collate "C")
        having count(*) > 1
      union all
      select f.flow_slug, 0, format('flow "%s" has %s characters, its queue may have 47', f.flow_slug, length(f.flow_slug))
        from pgflow.flows f
        where f.queue_mode = 'flow' and length(f.flow_slug) > 47
          and exists (select from pgflow.steps s where s.flow_slug = f.flow_slug)
      union all
      select s.flow_slug, 1, format('step "%s" of flow "%s"', s.step_slug, s.flow_slug)
        from pgflow.steps s
        where s.step_slug collate "C" !~ v_rule
      union all
      select s.flow_slug, 2, format(
          'steps %s of flow "%s" differ in case only',
          string_agg(format('"%s"', s.step_slug), ', ' order by s.step_index),
          s.flow_slug
        )
        from pgflow.steps s
        group by s.flow_slug, lower(s.step_slug collate "C")
        having count(*) > 1
      union all
      select min(t.flow_slug), 3, format(
          'message %s of queue "%s" belongs to several tasks: %s', t.message_id, t.queue_name,
          string_agg(format('%s %s[%s]', t.run_id, t.step_slug, t.task_index), ', ' order by t.run_id, t.step_slug, t.task_index)
        )
        from (
          select task.flow_slug, task.run_id, task.step_slug, task.task_index, task.message_id,
              coalesce(task.queue_name, lower(task.flow_slug collate "C")) as queue_name
            from pgflow.step_tasks task
            where task.message_id is not null
        ) t
        group by t.queue_name, t.message_id
        having count(*) > 1
    ) offender;

  if v_count > 0 then
    raise exception using
      errcode = 'check_violation',
      constraint = 'pgflow_naming_rules',
      message = format('%s offender(s) break the rules that step queues need; nothing was changed.', v_count),
      detail = v_offenders,
      hint = 'A slug starts with a letter, ends with a letter or digit and has no "__"; flows, and steps of one flow, differ '
        'in more than case. Finish and delete what is named here or define it anew under valid slugs, then migrate again.';
  end if;
end;
$$;

alter table pgflow.flows
  drop constraint if exists queue_mode_is_valid,
  add constraint queue_mode_is_valid check (queue_mode in ('flow', 'step'));

-- Two spellings of one slug would share one default queue.
create unique index if not exists idx_flows_normalized_slug on pgflow.flows (lower(flow_slug collate "C"));

-- Tasks before steps, each: filled, then enforced.
update pgflow.step_tasks set queue_name = lower(flow_slug collate "C") where queue_name is null;
alter table pgflow.step_tasks
  alter column queue_name set not null,
  drop constraint if exists queue_name_is_valid,
  add constraint queue_name_is_valid check (
    queue_name <> '' and length(queue_name) <= 47 and queue_name = lower(queue_name collate "C")
  );
drop index if exists pgflow.idx_step_tasks_message_id;
-- Message ids repeat across queues.
create unique index if not exists idx_step_tasks_queue_message on pgflow.step_tasks (queue_name, message_id)
  where message_id is not null;

update pgflow.steps set queue_name = lower(flow_slug collate "C") where queue_name is null;
alter table pgflow.steps
  alter column queue_name set not null,
  drop constraint if exists queue_name_is_valid,
  add constraint queue_name_is_valid check (
    queue_name <> '' and length(queue_name) <= 47 and queue_name = lower(queue_name collate "C")
  );
-- Preflight asks who else routes to a name; coverage joins workers on it.
create index if not exists idx_steps_queue_name on pgflow.steps (queue_name);
create unique index if not exists idx_steps_normalized_slug on pgflow.steps (flow_slug, lower(step_slug collate "C"));

-- Dropped and added anew, so that rows which nobody uses are checked too.
alter table pgflow.flows
  drop constraint if exists slug_is_valid,
  add constraint slug_is_valid check (
    flow_slug collate "C" ~ '^[a-zA-Z](_?[a-zA-Z0-9])*$' and length(flow_slug) <= 128 and flow_slug <> 'run'
  );
alter table pgflow.steps
  drop constraint if exists steps_step_slug_check,
  add constraint steps_step_slug_check check (
    step_slug collate "C" ~ '^[a-zA-Z](_?[a-zA-Z0-9])*$' and length(step_slug) <= 128 and step_slug <> 'run'
  );
