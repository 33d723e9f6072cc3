-- Which step queues have a live worker right now. Run it after a deployment, before callers switch to a new version.
-- A route is covered when at least one worker polls exactly its queue, is neither stopped nor deprecated and sent a
-- heartbeat in the last 6 seconds. For one flow add: and f.flow_slug = '...'
select s.flow_slug, s.step_index, s.step_slug, s.queue_name, l.live_workers, l.live_workers > 0 as covered
from pgflow.flows f
join pgflow.steps s using (flow_slug)
cross join lateral (
  select count(*)::int as live_workers
  from pgflow.workers w
  where w.queue_name = s.queue_name
    and w.stopped_at is null
    and w.deprecated_at is null
    and w.last_heartbeat_at > clock_timestamp() - interval '6 seconds'
) l
where f.queue_mode = 'step'
order by s.flow_slug, s.step_index;
