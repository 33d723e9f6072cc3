-- pgflow.ensure_flow_compiled: the definition in the database is the worker's, or becomes it, or the caller learns why not.
-- Called by: every supervisor, and every worker without one, at its start (store::FlowStore), before it registers or polls.
-- Locks: as _compile_or_verify.
-- Promises: {"status", "differences", "mismatchKind"}; shape, mode and ordered routes are compared always. A mismatch
--   returns and changes nothing; only a local database recompiles, and an error then keeps the old definition, its
--   queues and its runs.
-- Refuses: isolation_level; whatever _compile_or_verify refuses.
create or replace function pgflow.ensure_flow_compiled(
  flow_slug text,
  shape jsonb,
  queue_mode text default 'flow',
  route_map jsonb default null
) returns jsonb
language plpgsql set search_path = pg_catalog, pg_temp
as $$
begin
  perform pgflow._require_read_committed('ensure_flow_compiled');
  return pgflow._compile_or_verify(flow_slug, shape, queue_mode, route_map, pgflow.is_local());
end;
$$;
