-- 0003_supervised_workers, undone: workers have no process, crashes are not counted, and there are no fences.
-- Refuses while an unfinished task has a crash on its account, because it would start from zero, and while a fence stands,
-- because what it holds back would run. The record of fences that were lifted goes.

set local lock_timeout = '10s';
lock table pgflow.step_tasks, pgflow.workers, pgflow.fences in access exclusive mode;

do $$
declare
  v_kept text;
begin
  select string_agg(kept.text, E'\n' order by kept.text) into v_kept
    from (
      select format('task %s[%s] of run %s: %s crash(es)', t.step_slug, t.task_index, t.run_id, t.crash_count) as text
        from pgflow.step_tasks t
        where t.crash_count > 0 and t.status in ('queued', 'started')
      union all
      select format('fence %s of %s around %s', f.fence_id, f.owner, array_to_string(f.function_names, ', '))
        from pgflow.fences f
        where f.lifted_at is null
    ) kept;
  if v_kept is not null then
    raise exception using
      errcode = 'object_in_use',
      constraint = 'pgflow_data_would_be_lost',
      message = 'Going back would forget crashes of unfinished tasks or fences that stand; nothing was changed.',
      detail = v_kept,
      hint = 'Let these runs finish, or set crash_count to 0 where the count may go; lift the fences; then go back.';
  end if;
end;
$$;

drop table pgflow.fenced_functions, pgflow.fences;
drop index pgflow.idx_step_tasks_stalled;
alter table pgflow.workers drop column pid, drop column host_id, drop column revision;
alter table pgflow.step_tasks drop column crash_count;
