-- pgflow._wake: tell whoever listens that these steps, which have just started, have work in their queues.
-- Called by: start_flows, unless `pgflow.wake` is off.    Locks: none; the commit then takes a server-wide one for a moment.
-- Promises: channel pgflow_wake, one notification for each queue and transaction; none for delayed tasks. Between workers
--   their supervisor passes it on, so that no settling pays for a notification.

create or replace function pgflow._wake(flow_slug text, step_slugs text[])
returns int
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform pg_notify('pgflow_wake', queue.name)
    from (
      select distinct s.queue_name as name
        from pgflow.steps s
        where s.flow_slug = _wake.flow_slug and s.step_slug = any(_wake.step_slugs) and coalesce(s.opt_start_delay, 0) = 0
    ) queue;
  return 1;
end;
$$;
