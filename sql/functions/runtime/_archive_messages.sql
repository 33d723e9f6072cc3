-- pgflow._archive_messages: archive the messages (queue_names[i], message_ids[i]), one call for each queue.
-- Called by: everything that makes tasks final, after their rows are final.    Locks: queue rows.
-- Promises: messages that are already gone are ignored, and so are whole queues. Returns the number archived. (The
--   `offset 0` here and in its neighbours keeps the look at a queue's existence one for each queue.)

create or replace function pgflow._archive_messages(queue_names text[], message_ids bigint[])
returns int
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if coalesce(cardinality(queue_names), 0) = 0 then
    return 0;
  end if;
  return (
    select count(*)
      from (
        select message.queue_name, array_agg(message.id order by message.id) as ids
          from unnest(queue_names, message_ids) as message (queue_name, id)
          where message.id is not null
          group by message.queue_name
          order by message.queue_name
          offset 0
      ) batch
      cross join lateral pgmq.archive(batch.queue_name, batch.ids)
      where pgflow._queue_exists(batch.queue_name)
  );
end;
$$;
