-- pgflow._default_queue_name: the one queue of a flow in flow mode.
-- Called by: _derive_queue_routes, create_flow.    Locks: none.
-- Promises: the lower case slug, at most 47 characters.
-- Refuses: default_queue_name, when it is longer.
create or replace function pgflow._default_queue_name(p_flow_slug text) returns text
language plpgsql immutable set search_path = pg_catalog, pg_temp
as $$
declare
  v_queue constant text := lower(p_flow_slug collate "C");
begin
  if length(v_queue) > 47 then
    raise exception using
      constraint = 'pgflow_default_queue_name',
      message = format(
        'Default queue of flow "%s" is %s characters; PGMQ allows at most 47.', p_flow_slug, length(v_queue)
      ),
      detail = format('The queue would be "%s".', v_queue),
      hint = 'Shorten the flow slug.';
  end if;
  return v_queue;
end;
$$;
