-- 0002_step_queues: a flow chooses one queue for all steps or one for each. Existing flows keep their one queue, and
-- their slugs must obey the rules that make generated names unambiguous.
--
-- Nothing is renamed, moved or deleted: a database with an offending definition is left exactly as it was, and the error
-- names every offender at once.

set local lock_timeout = '10s';

-- Before anything changes: the whole list, in one readable error.
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
    ) offender;

  if v_count > 0 then
    raise exception using
      errcode = 'check_violation',
      constraint = 'pgflow_naming_rules',
      message = format('%s definition(s) break the naming rules that step queues need; nothing was changed.', v_count),
      detail = v_offenders,
      hint = 'A slug starts with a letter, ends with a letter or digit and has no "__"; steps of one flow differ in more '
        'than case. Finish and delete these flows (pgflow.delete_flow_and_data) or define them anew under valid slugs, '
        'then migrate again.';
  end if;
end;
$$;

alter table pgflow.flows
  add column queue_mode text not null default 'flow',
  add constraint queue_mode_is_valid check (queue_mode in ('flow', 'step'));

-- Dropped and added anew, so that rows which nobody uses are checked too.
alter table pgflow.flows
  drop constraint slug_is_valid,
  add constraint slug_is_valid check (
    flow_slug collate "C" ~ '^[a-zA-Z](_?[a-zA-Z0-9])*$' and length(flow_slug) <= 128 and flow_slug <> 'run'
  );
alter table pgflow.steps
  drop constraint steps_step_slug_check,
  add constraint steps_step_slug_check check (
    step_slug collate "C" ~ '^[a-zA-Z](_?[a-zA-Z0-9])*$' and length(step_slug) <= 128 and step_slug <> 'run'
  );

create unique index idx_steps_normalized_slug on pgflow.steps (flow_slug, lower(step_slug collate "C"));
