-- pgflow._wake: tell whoever listens that these queues have got work.
-- Called by: start_flows, unless `pgflow.wake` is off.    Locks: none; the commit then takes a server-wide one for a moment.
-- Promises: channel pgflow_wake, one notification for each queue and transaction. Between workers their supervisor passes it
--   on, so that no settling pays for a notification.

create or replace function pgflow._wake(queue_names text[])
returns int
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform pg_notify('pgflow_wake', queue.name) from unnest(queue_names) as queue (name);
  return 1;
end;
$$;
