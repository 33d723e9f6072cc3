-- pgflow._resolve_step_queue_name: the private queue of one step.
-- Called by: _derive_queue_routes.    Locks: none.
-- Promises: lower case, at most 47 characters: <flow>__<step>, or <flow>__<index> where that is too long. Slugs have no
--   "__" and start with a letter, so no two steps of valid flows share a name. Never cut, never hashed.
-- Refuses: flow_queue_name, when not even <flow>__0 fits; step_queue_name, when neither name of this step fits.
create or replace function pgflow._resolve_step_queue_name(p_flow_slug text, p_step_slug text, p_step_index int)
returns text
language plpgsql immutable set search_path = pg_catalog, pg_temp
as $$
declare
  v_limit constant int := 47;
  v_readable constant text := lower((p_flow_slug || '__' || p_step_slug) collate "C");
  v_shortest constant text := lower((p_flow_slug || '__0') collate "C");
  v_fallback constant text := lower((p_flow_slug || '__' || p_step_index) collate "C");
begin
  if length(v_readable) <= v_limit then
    return v_readable;
  end if;

  if length(v_shortest) > v_limit then
    raise exception using
      constraint = 'pgflow_flow_queue_name',
      message = format('Flow "%s" cannot use per-step queues.', p_flow_slug),
      detail = format(
        'The shortest required queue "%s" is %s characters; PGMQ allows at most %s.',
        v_shortest, length(v_shortest), v_limit
      ),
      hint = 'Shorten the concrete flow slug or use the default single queue.';
  end if;

  if length(v_fallback) <= v_limit then
    return v_fallback;
  end if;

  raise exception using
    constraint = 'pgflow_step_queue_name',
    message = format(
      'Cannot derive a queue for step "%s" at index %s in flow "%s".', p_step_slug, p_step_index, p_flow_slug
    ),
    detail = format(
      'The readable name is %s characters and the index fallback is %s; PGMQ allows at most %s.',
      length(v_readable), length(v_fallback), v_limit
    ),
    hint = 'Shorten the concrete flow slug, shorten the step slug enough for the readable name, or use the default '
      'single queue.';
end;
$$;
