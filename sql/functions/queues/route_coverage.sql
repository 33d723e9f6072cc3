-- pgflow.route_coverage: which step queues have a live worker at this moment.
-- Called by: `pgflow coverage`, supervisor (store::FlowStore), operators.    Locks: none.
-- Promises: one row for each route of step-mode flows (of one, or of all), in the order of the steps. Live means: exactly
--   this queue, not stopped, not deprecated, heartbeat younger than 6 seconds.
-- Refuses: nothing; an unknown flow has no rows.
create or replace function pgflow.route_coverage(p_flow_slug text default null)
returns table (flow_slug text, step_index int, step_slug text, queue_name text, live_workers int, covered boolean)
language sql stable set search_path = pg_catalog, pg_temp
as $$
  select s.flow_slug, s.step_index, s.step_slug, s.queue_name, l.live_workers, l.live_workers > 0
    from pgflow.flows f
    join pgflow.steps s on s.flow_slug = f.flow_slug
    cross join lateral (
      select count(*)::int as live_workers
        from pgflow.workers w
        where w.queue_name = s.queue_name
          and w.stopped_at is null
          and w.deprecated_at is null
          and w.last_heartbeat_at > clock_timestamp() - interval '6 seconds'
    ) l
    where f.queue_mode = 'step' and (p_flow_slug is null or f.flow_slug = p_flow_slug)
    order by s.flow_slug, s.step_index
$$;
