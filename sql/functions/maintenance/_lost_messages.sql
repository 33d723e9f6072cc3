-- pgflow._lost_messages: which of these messages are not in their queue: purged, archived by hand, or the queue was dropped.
-- Called by: stalled_tasks, requeue_tasks, with messages of queued tasks, which are always there.    Locks: none that
--   wait in a circle: the queues' tables in the order in which a deletion drops them.
-- Promises: lost[i] tells of (queue_names[i], message_ids[i]); each queue is read once, by the keys of its table. One that is
--   dropped meanwhile has lost them all.

create or replace function pgflow._lost_messages(queue_names text[], message_ids bigint[])
returns boolean[]
language plpgsql
stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
declare
  v_queue record;
  v_there boolean[] := array_fill(false, array[coalesce(cardinality(queue_names), 0)]);
  v_position bigint;
begin
  for v_queue in
    select message.queue_name as name, array_agg(message.position) as positions, array_agg(message.id) as ids
      from unnest(queue_names, message_ids) with ordinality as message (queue_name, id, position)
      where message.id is not null
      group by message.queue_name
      order by message.queue_name collate "C"
  loop
    continue when not pgflow._queue_exists(v_queue.name);
    begin
      for v_position in execute format(
        'select asked.position from unnest($1, $2) as asked (id, position) join pgmq.%I q on q.msg_id = asked.id',
        pgmq.format_table_name(v_queue.name, 'q')
      ) using v_queue.ids, v_queue.positions
      loop
        v_there[v_position] := true;
      end loop;
    exception when undefined_table then
      null;
    end;
  end loop;
  return array(select not answer.there from unnest(v_there) with ordinality as answer (there, position) order by answer.position);
end;
$$;
