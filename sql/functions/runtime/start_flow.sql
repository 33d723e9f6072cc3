-- pgflow.start_flow: start one run and send the tasks of every step that can begin.
-- Called by: clients, `pgflow run start`.    Locks, promises, refuses: as start_flows.

create or replace function pgflow.start_flow(flow_slug text, input jsonb, run_id uuid default null)
returns setof pgflow.runs
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  return query
    select r.*
      from pgflow.start_flows(
        start_flow.flow_slug, array[start_flow.input], case when start_flow.run_id is not null then array[start_flow.run_id] end
      ) r;
end;
$$;
