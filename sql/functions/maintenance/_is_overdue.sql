-- pgflow._is_overdue: whether an attempt that began then has been silent for its timeout + 30 s: its worker is given up.
-- Called by: requeue_stalled_tasks, stalled_tasks, requeue_tasks.    Locks: none.

create or replace function pgflow._is_overdue(flow_slug text, step_slug text, started_at timestamptz)
returns boolean
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return (
    select _is_overdue.started_at < now() - make_interval(secs => coalesce(step.opt_timeout, flow.opt_timeout)::float8 + 30)
      from pgflow.steps step, pgflow.flows flow
      where step.flow_slug = _is_overdue.flow_slug
        and step.step_slug = _is_overdue.step_slug
        and flow.flow_slug = _is_overdue.flow_slug
  );
end;
$$;
