-- pgflow._wake: tell whoever listens that the steps of this run that have just started have work in their queues.
-- Called by: start_flow, unless `pgflow.wake` is off.    Locks: none; the commit then takes a server-wide one for a moment.
-- Promises: channel pgflow_wake, one notification for each queue and transaction; none for delayed tasks. Between workers
--   their supervisor passes it on, so that no settling pays for a notification.

create or replace function pgflow._wake(flow_slug text, run_id uuid)
returns int
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform pg_notify('pgflow_wake', s.queue_name)
    from pgflow.step_states ss
    join pgflow.steps s on s.flow_slug = _wake.flow_slug and s.step_slug = ss.step_slug
    where ss.run_id = _wake.run_id and ss.status = 'started' and coalesce(s.opt_start_delay, 0) = 0;
  return 1;
end;
$$;
