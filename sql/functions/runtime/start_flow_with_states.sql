-- pgflow.start_flow_with_states: start a run and return it with its steps.
-- Called by: clients that may call functions but not write tables.    Locks: as start_flow.
-- Promises: the snapshot is taken in the transaction that started the run.
-- Refuses: what start_flow refuses.

create or replace function pgflow.start_flow_with_states(flow_slug text, input jsonb, run_id uuid default null)
returns jsonb
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_run_id uuid;
begin
  select r.run_id into v_run_id
    from pgflow.start_flow(
      start_flow_with_states.flow_slug, start_flow_with_states.input, start_flow_with_states.run_id
    ) r;
  return pgflow.get_run_with_states(v_run_id);
end;
$$;
