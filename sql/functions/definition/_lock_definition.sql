-- pgflow._lock_definition: one writer for each definition, whatever the case of its slug, until the transaction ends.
-- Called by: create_flow, add_step, ensure_flow_compiled, _create_flow_from_shape, delete_flow_and_data, restore_queues, first.
-- Locks: the advisory lock (1, hash of the lower case slug): first in the order of docs/sql-api.md, exclusive or
--   shared.
-- Promises: re-entrant; generated names of different flows never meet, so no lock across flows is needed.
create or replace function pgflow._lock_definition(p_flow_slug text, p_shared boolean default false) returns void
language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
  v_key constant int := hashtext(lower(p_flow_slug collate "C"));
begin
  if p_shared then
    perform pg_advisory_xact_lock_shared(1, v_key);
  else
    perform pg_advisory_xact_lock(1, v_key);
  end if;
end;
$$;
