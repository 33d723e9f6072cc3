-- 0002_step_queues, undone: every flow has its one queue again, and a task knows its message by the id alone.
-- Refuses while something lies in another queue, because its place would be forgotten.

set local lock_timeout = '10s';
lock table pgflow.flows, pgflow.steps, pgflow.step_tasks in access exclusive mode;

do $$
declare
  v_kept text;
begin
  select string_agg(kept.text, E'\n' order by kept.text) into v_kept
    from (
      select format('flow "%s" is in step mode', f.flow_slug) as text
        from pgflow.flows f where f.queue_mode = 'step'
      union all
      select format('step "%s" of flow "%s" has queue "%s"', s.step_slug, s.flow_slug, s.queue_name)
        from pgflow.steps s join pgflow.flows f using (flow_slug)
        where f.queue_mode = 'flow' and s.queue_name <> lower(s.flow_slug collate "C")
      union all
      select format('%s task(s) of flow "%s" were sent to queue "%s"', count(*), t.flow_slug, t.queue_name)
        from pgflow.step_tasks t join pgflow.flows f using (flow_slug)
        where f.queue_mode = 'flow' and t.queue_name <> lower(t.flow_slug collate "C")
        group by t.flow_slug, t.queue_name
    ) kept;
  if v_kept is not null then
    raise exception using
      errcode = 'object_in_use',
      constraint = 'pgflow_data_would_be_lost',
      message = 'Going back would forget where messages are; nothing was changed.',
      detail = v_kept,
      hint = 'Finish these runs and delete the flows (pgflow.delete_flow_and_data), then go back.';
  end if;
end;
$$;

drop index pgflow.idx_flows_normalized_slug, pgflow.idx_steps_normalized_slug, pgflow.idx_steps_queue_name,
  pgflow.idx_step_tasks_queue_message;
alter table pgflow.flows
  drop column queue_mode,
  drop constraint slug_is_valid,
  add constraint slug_is_valid check (
    flow_slug collate "C" ~ '^[a-zA-Z_][a-zA-Z0-9_]*$' and length(flow_slug) <= 128 and flow_slug <> 'run'
  );
alter table pgflow.steps
  drop column queue_name,
  drop constraint steps_step_slug_check,
  add constraint steps_step_slug_check check (
    step_slug collate "C" ~ '^[a-zA-Z_][a-zA-Z0-9_]*$' and length(step_slug) <= 128 and step_slug <> 'run'
  );
alter table pgflow.step_tasks drop column queue_name;
create index idx_step_tasks_message_id on pgflow.step_tasks (message_id) where message_id is not null;
