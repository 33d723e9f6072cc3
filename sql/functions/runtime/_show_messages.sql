-- pgflow._show_messages: make the messages (queue_names[i], message_ids[i]) visible after delays[i] seconds.
-- Called by: _fail_tasks, _release_tasks, _requeue_stalled, after the tasks' rows.    Locks: queue rows.
-- Promises: one statement for each queue; messages and queues that are gone are ignored. Returns the number changed.

create or replace function pgflow._show_messages(queue_names text[], message_ids bigint[], delays int[])
returns int
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  return (
    select count(*)
      from (
        select message.queue_name, array_agg(message.id) as ids, array_agg(message.delay) as delays
          from unnest(queue_names, message_ids, delays) as message (queue_name, id, delay)
          group by message.queue_name
          order by message.queue_name
          offset 0
      ) batch
      cross join lateral pgflow._set_vt_batch(batch.queue_name, batch.ids, batch.delays)
      where pgflow._queue_exists(batch.queue_name)
  );
end;
$$;
