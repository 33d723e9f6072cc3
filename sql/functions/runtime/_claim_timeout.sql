-- pgflow._claim_timeout: check the selector of a claim and return the longest timeout behind it, in seconds.
-- Called by: start_tasks, read_and_claim.    Locks: none.
-- Promises: NULL when the claim can only be empty: an unknown flow, or a queue that is not the flow's default queue in its
--   exact spelling. At most 2147483645, so that two seconds more are an int.
-- Refuses: step mode without a step, or with one that is not routed to this queue; flow mode with a step.

create or replace function pgflow._claim_timeout(flow_slug text, queue_name text, step_slug text)
returns int
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_queue_mode text;
  v_timeout int;
  v_routed boolean;
begin
  select f.queue_mode, max(least(coalesce(s.opt_timeout, f.opt_timeout), 2147483645)),
      coalesce(bool_or(s.step_slug is not null), false)
    into v_queue_mode, v_timeout, v_routed
    from pgflow.flows f
    left join pgflow.steps s
      on s.flow_slug = f.flow_slug
      and s.queue_name = _claim_timeout.queue_name
      and (_claim_timeout.step_slug is null or s.step_slug = _claim_timeout.step_slug)
    where f.flow_slug = _claim_timeout.flow_slug
    group by f.queue_mode;

  if v_queue_mode = 'flow' then
    if _claim_timeout.step_slug is not null then
      raise exception using
        constraint = 'pgflow_selector_forbidden',
        message = format('Flow "%s" uses its default queue; a step selector is not allowed.', _claim_timeout.flow_slug),
        detail = format('Step "%s" was named.', _claim_timeout.step_slug),
        hint = 'Omit the step, or compile the flow with step queues.';
    end if;
    return case
      when _claim_timeout.queue_name = lower(_claim_timeout.flow_slug collate "C") then v_timeout
    end;
  end if;

  if v_queue_mode = 'step' then
    if _claim_timeout.step_slug is null then
      raise exception using
        constraint = 'pgflow_selector_required',
        message = format('Claiming from flow "%s" needs a step selector.', _claim_timeout.flow_slug),
        detail = format('Queue "%s" was named; in step mode every queue is private to one step.', _claim_timeout.queue_name),
        hint = 'Pass the exact step slug of the queue.';
    end if;
    if not v_routed then
      raise exception using
        constraint = 'pgflow_selector_route',
        message = format(
          'Step "%s" of flow "%s" is not routed to queue "%s".',
          _claim_timeout.step_slug, _claim_timeout.flow_slug, _claim_timeout.queue_name
        ),
        detail = 'The flow, the step and the queue must be spelled exactly as they are stored.',
        hint = 'Look the route up in pgflow.steps.';
    end if;
  end if;
  return v_timeout;
end;
$$;
