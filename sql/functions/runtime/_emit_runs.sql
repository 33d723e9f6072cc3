-- pgflow._emit_runs: tell that these runs have reached the status they are in now.
-- Called by: every function that starts or ends a run, after `if pgflow._emits()`.    Locks: none.
-- Promises: one event for each run, in the given order; error_messages[i] goes with a failed run.

create or replace function pgflow._emit_runs(run_ids uuid[], error_messages text[] default null)
returns int
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
begin
  perform pgflow._emit(
      jsonb_build_object(
        'event_type', 'run:' || r.status, 'run_id', r.run_id, 'flow_slug', r.flow_slug, 'status', r.status
      )
      || case r.status
        when 'started' then jsonb_build_object(
          'input', r.input, 'remaining_steps', r.remaining_steps, 'started_at', r.started_at
        )
        when 'completed' then jsonb_build_object('output', r.output, 'completed_at', r.completed_at)
        else jsonb_build_object('error_message', r.error_message, 'failed_at', r.failed_at)
      end,
      'run:' || r.status,
      'pgflow:run:' || r.run_id
    )
    from (
      select run.*, changed.error_message
        from unnest(run_ids, error_messages) with ordinality as changed (run_id, error_message, position)
        cross join lateral (select r.* from pgflow.runs r where r.run_id = changed.run_id offset 0) run
        order by changed.position
    ) r;
  return cardinality(run_ids);
end;
$$;
