-- 0003_supervised_workers, undone: workers have no process, and crashes are not counted.
-- Refuses while an unfinished task has a crash on its account, because it would start from zero.

set local lock_timeout = '10s';
lock table pgflow.step_tasks, pgflow.workers in access exclusive mode;

do $$
declare
  v_kept text;
begin
  select string_agg(
      format('task %s[%s] of run %s: %s crash(es)', t.step_slug, t.task_index, t.run_id, t.crash_count), E'\n'
      order by t.run_id, t.step_slug, t.task_index
    )
    into v_kept
    from pgflow.step_tasks t
    where t.crash_count > 0 and t.status in ('queued', 'started');
  if v_kept is not null then
    raise exception using
      errcode = 'object_in_use',
      constraint = 'pgflow_data_would_be_lost',
      message = 'Going back would forget crashes of unfinished tasks; nothing was changed.',
      detail = v_kept,
      hint = 'Let these runs finish, or set crash_count to 0 where the count may go, then go back.';
  end if;
end;
$$;

alter table pgflow.workers drop column pid, drop column host_id, drop column revision;
alter table pgflow.step_tasks drop column crash_count;
