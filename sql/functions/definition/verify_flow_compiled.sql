-- pgflow.verify_flow_compiled: ensure_flow_compiled for one of several who run a flow: it never recompiles, not in a local
--   database either, because the runs of the others would go with the old definition.
-- Called by: every worker of a supervisor, at its start (store::FlowStore): the supervisor has compiled the flow.
-- Locks: as _compile_or_verify.
-- Promises: as ensure_flow_compiled, without recompiled.
-- Refuses: as ensure_flow_compiled.
create or replace function pgflow.verify_flow_compiled(
  flow_slug text,
  shape jsonb,
  queue_mode text default 'flow',
  route_map jsonb default null
) returns jsonb
language plpgsql set search_path = pg_catalog, pg_temp
as $$
begin
  perform pgflow._require_read_committed('verify_flow_compiled');
  return pgflow._compile_or_verify(flow_slug, shape, queue_mode, route_map, false);
end;
$$;
