-- pgflow.drain_status: what of these functions still runs.
-- Called by: operators and the supervisor, between the fence and the deployment.    Locks: none.
-- Promises: one row for each function asked for, in the order of the names. live: heartbeat younger than 6 s, not stopped,
--   not deprecated; draining: the same, but deprecated. Drained is a function without either and without a task in hand;
--   its queues may well be full. A task that has stalled for good is in nobody's hand.
-- Refuses: NULL (argument_invalid, 22023).

create or replace function pgflow.drain_status(function_names text[])
returns table (
  function_name text,
  enabled boolean,
  is_fenced boolean,
  live_workers int,
  draining_workers int,
  tasks_in_hand int,
  drained boolean
)
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if function_names is null then
    perform pgflow._refuse_argument('drain_status', 'function_names', null, 'an array of names');
  end if;
  return query
    select asked.name, f.enabled,
        exists (select from pgflow.fenced_functions standing where standing.function_name = asked.name),
        beating.live, beating.draining, holding.tasks,
        beating.live + beating.draining + holding.tasks = 0
      from (select distinct wanted.name collate "C" as name from unnest(function_names) as wanted (name)) asked
      left join pgflow.worker_functions f on f.function_name = asked.name
      cross join lateral (
        select (count(*) filter (where w.deprecated_at is null))::int as live,
            (count(*) filter (where w.deprecated_at is not null))::int as draining
          from pgflow.workers w
          where w.function_name = asked.name
            and w.stopped_at is null
            and w.last_heartbeat_at > clock_timestamp() - interval '6 seconds'
      ) beating
      cross join lateral (
        select count(*)::int as tasks
          from pgflow._tasks_in_hand(
            array(
              select distinct queue.name
                from (select distinct w.queue_name from pgflow.workers w where w.function_name = asked.name) registered
                cross join lateral unnest(pgflow._registered_queues(registered.queue_name)) as queue (name)
            )
          ) t
          join pgflow.workers w on w.worker_id = t.last_worker_id
          where w.function_name = asked.name
      ) holding
      order by asked.name;
end;
$$;
