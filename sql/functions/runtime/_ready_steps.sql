-- pgflow._ready_steps: the steps of one run that wait for nothing and have not begun.
-- Called by: the functions for one run, under its lock.    Locks: none.
-- Promises: in the order of their definition; none for an unknown or finished run.

create or replace function pgflow._ready_steps(p_run_id uuid, out run_ids uuid[], out step_slugs text[])
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  select array_agg(ss.run_id order by s.step_index), array_agg(ss.step_slug order by s.step_index)
    into run_ids, step_slugs
    from pgflow.runs r
    join pgflow.step_states ss on ss.run_id = r.run_id
    join pgflow.steps s on s.flow_slug = ss.flow_slug and s.step_slug = ss.step_slug
    where r.run_id = p_run_id and r.status = 'started' and ss.status = 'created' and ss.remaining_deps = 0;
end;
$$;
