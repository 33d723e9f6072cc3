-- pgflow._listed_queue_name: the spelling under which PGMQ lists a queue, which dropping it needs.
-- Called by: delete_flow_and_data.    Locks: none.
-- Promises: the one listed spelling of a normalized name; the name itself when none is listed.
-- Refuses: two listed spellings of one table (queue_ambiguous, 42P09).
create or replace function pgflow._listed_queue_name(p_queue_name text) returns text
language plpgsql stable set search_path = pg_catalog, pg_temp
as $$
declare
  v_spellings text[];
begin
  select array_agg(q.queue_name::text order by q.queue_name::text collate "C") into v_spellings
    from pgmq.list_queues() q
    where lower(q.queue_name::text collate "C") = lower(p_queue_name collate "C");

  if cardinality(v_spellings) > 1 then
    raise exception using
      errcode = 'ambiguous_alias',
      constraint = 'pgflow_queue_ambiguous',
      message = format('Queue "%s" matches several listed queues.', p_queue_name),
      detail = format('Listed: %s.', array_to_string(v_spellings, ', ')),
      hint = 'Remove the duplicate from PGMQ by hand, then try again.';
  end if;
  return coalesce(v_spellings[1], p_queue_name);
end;
$$;
