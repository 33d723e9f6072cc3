-- pgflow._emit_steps: tell that these steps have reached the status they are in now.
-- Called by: every function that ends or starts a step, after `if pgflow._emits()`.    Locks: none.
-- Promises: one event for each pair (run_ids[i], step_slugs[i]), in that order.

create or replace function pgflow._emit_steps(run_ids uuid[], step_slugs text[])
returns int
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
begin
  perform pgflow._emit(
      jsonb_build_object(
        'event_type', 'step:' || ss.status,
        'run_id', ss.run_id,
        'flow_slug', ss.flow_slug,
        'step_slug', ss.step_slug,
        'status', ss.status
      )
      || case ss.status
        when 'started' then jsonb_build_object(
          'started_at', ss.started_at, 'remaining_tasks', ss.remaining_tasks, 'remaining_deps', ss.remaining_deps
        )
        when 'completed' then jsonb_build_object('output', ss.output, 'completed_at', ss.completed_at)
        when 'failed' then jsonb_build_object('error_message', ss.error_message, 'failed_at', ss.failed_at)
        else jsonb_build_object('skip_reason', ss.skip_reason, 'skipped_at', ss.skipped_at)
      end
      || case
        when ss.status = 'completed' and ss.initial_tasks = 0 then jsonb_build_object(
          'started_at', ss.started_at, 'remaining_tasks', ss.remaining_tasks, 'remaining_deps', ss.remaining_deps
        )
        when ss.skip_reason = 'handler_failed' then jsonb_build_object('error_message', ss.error_message)
        else '{}'
      end,
      format('step:%s:%s', ss.step_slug, ss.status),
      'pgflow:run:' || ss.run_id
    )
    from (
      select state.*
        from unnest(run_ids, step_slugs) with ordinality as changed (run_id, step_slug, position)
        cross join lateral (
          select step_state.*
            from pgflow.step_states step_state
            where step_state.run_id = changed.run_id and step_state.step_slug = changed.step_slug
            offset 0
        ) state
        order by changed.position
    ) ss;
  return cardinality(run_ids);
end;
$$;
