-- pgflow._assert_step_queues_available: the whole route set can belong to this flow, asked in one query.
-- Called by: _create_flow_from_shape, ensure_flow_compiled.    Locks: none; the caller holds the definition lock.
-- Promises: returns the names that must be created, sorted; the others are owned by this exact flow and listed. A
--   missing definition adopts nothing.
-- Refuses: queue_foreign_owner of any name before queue_ambiguous of any, and that before queue_missing and queue_unowned;
--   among equals the first in the order of the names.
create or replace function pgflow._assert_step_queues_available(p_flow_slug text, p_queue_names text[]) returns text[]
language plpgsql stable set search_path = pg_catalog, pg_temp
as $$
declare
  v_queue record;
  v_create text[] := array[]::text[];
begin
  for v_queue in
    with listed as materialized (
      select lower(q.queue_name::text collate "C") as name,
          array_agg(q.queue_name::text order by q.queue_name::text collate "C") as spellings
        from pgmq.list_queues() q
        where lower(q.queue_name::text collate "C") = any (p_queue_names)
        group by 1
    ),
    owner as materialized (
      select s.queue_name as name, s.flow_slug from pgflow.steps s where s.queue_name = any (p_queue_names)
      union
      select lower(f.flow_slug collate "C"), f.flow_slug from pgflow.flows f
        where f.queue_mode = 'flow' and lower(f.flow_slug collate "C") = any (p_queue_names)
    ),
    wanted as (
      select name.name, name.position,
          coalesce(listed.spellings, '{}') as spellings,
          (select min(owner.flow_slug) from owner
            where owner.name = name.name and owner.flow_slug <> p_flow_slug) as other_flow,
          exists (select from owner where owner.name = name.name and owner.flow_slug = p_flow_slug) as is_owned
        from unnest(p_queue_names) with ordinality as name (name, position)
        left join listed using (name)
    )
    select wanted.name, wanted.spellings, wanted.other_flow, wanted.is_owned
      from wanted
      order by
        case when wanted.other_flow is not null then 1 when cardinality(wanted.spellings) > 1 then 2 else 3 end,
        wanted.position
  loop
    case
      when v_queue.other_flow is not null then
        raise exception using
          constraint = 'pgflow_queue_foreign_owner',
          message = format(
            'Queue "%s" wanted by flow "%s" belongs to flow "%s".', v_queue.name, p_flow_slug, v_queue.other_flow
          ),
          detail = 'Its name is persisted in a route of that flow or is its default queue.',
          hint = 'Use another flow slug.';
      when cardinality(v_queue.spellings) > 1 then
        raise exception using
          constraint = 'pgflow_queue_ambiguous',
          message = format('Queue "%s" matches several listed queues.', v_queue.name),
          detail = format('Listed: %s.', array_to_string(v_queue.spellings, ', ')),
          hint = 'Remove the duplicate from PGMQ by hand, then try again.';
      when v_queue.is_owned and v_queue.spellings = '{}' then
        raise exception using
          constraint = 'pgflow_queue_missing',
          message = format('Queue "%s" of flow "%s" is not listed in PGMQ.', v_queue.name, p_flow_slug),
          detail = 'It was dropped or not restored; messages in it are gone.',
          hint = 'Find out why. Make it again with pgflow.restore_queues; or, if the loss is intended, delete the flow with '
            'pgflow.delete_flow_and_data and compile it again.';
      when not v_queue.is_owned and v_queue.spellings <> '{}' then
        raise exception using
          constraint = 'pgflow_queue_unowned',
          message = format(
            'Queue "%s" wanted by flow "%s" is already listed and not owned by it.', v_queue.name, p_flow_slug
          ),
          detail = 'A flow that does not exist yet adopts no queue.',
          hint = 'Drop the queue if nobody needs its messages, or use another flow slug.';
      when v_queue.spellings = '{}' then
        v_create := v_create || v_queue.name;
      else
        null; -- owned and listed
    end case;
  end loop;

  return array(select name from unnest(v_create) name order by name collate "C");
end;
$$;
