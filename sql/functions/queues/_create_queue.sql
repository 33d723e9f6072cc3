-- pgflow._create_queue: makes a queue, or makes one anew that somebody dropped.
-- Called by: create_flow, _create_flow_from_shape, restore_queues.    Locks: PGMQ's; the caller holds the definition lock.
-- Promises: message ids of an older queue of this name do not come back.
-- Refuses: queue_name_taken (42P07), when one of its tables would be called as another queue's index or sequence is, which
--   PGMQ would take for the table.
create or replace function pgflow._create_queue(p_queue_name text) returns void
language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
  v_taken text := (
    select c.relname
      from pg_class c
      where c.relnamespace = to_regnamespace('pgmq')
        and c.relname in (pgmq.format_table_name(p_queue_name, 'q'), pgmq.format_table_name(p_queue_name, 'a'))
        and c.relkind not in ('r', 'p')
      order by 1
      limit 1
  );
begin
  if v_taken is not null then
    raise exception using
      errcode = 'duplicate_table',
      constraint = 'pgflow_queue_name_taken',
      message = format('Queue "%s" cannot be made: another queue uses the name of its table.', p_queue_name),
      detail = format('pgmq.%I is an index or a sequence.', v_taken),
      hint = 'Use another slug; one that ends with _pkey or _msg_id_seq meets the index or the sequence of its neighbour.';
  end if;
  perform pgmq.create(p_queue_name);
  perform pgflow._continue_message_ids(p_queue_name);
end;
$$;
