-- Moves every queue from the schema pgmq_before into the schema pgmq, message ids included, so that tasks keep finding their
-- messages. For the change between our PGMQ and the extension, in one transaction with its other steps; workers are stopped:
--
--   To the extension:                                    Back to ours:
--     begin;                                               begin;
--     alter schema pgmq rename to pgmq_before;             alter schema pgmq rename to pgmq_before;
--     create extension pgmq;                               (what `pgflow sql pgmq` prints)
--     (this file)                                          (this file)
--     drop schema pgmq_before cascade;                     drop extension pgmq cascade;
--     commit;                                              drop schema if exists pgmq_before cascade;
--                                                          commit;
-- The extension cannot be created over a schema that has its objects; that is why the old one is renamed first.

do $$
declare
  v_queue record;
  v_last bigint;
begin
  -- One table for all spellings of a name: the first spelling brings the rows, the others are listed again.
  for v_queue in
    select m.queue_name::text as spelling, m.is_unlogged,
        pgmq.format_table_name(m.queue_name::text, 'q') as queue, pgmq.format_table_name(m.queue_name::text, 'a') as archive,
        row_number() over (partition by pgmq.format_table_name(m.queue_name::text, 'q') order by m.created_at, m.queue_name) = 1
          as is_first
      from pgmq_before.meta m
      order by m.created_at, m.queue_name
  loop
    if v_queue.is_unlogged then
      perform pgmq.create_unlogged(v_queue.spelling);
    else
      perform pgmq.create(v_queue.spelling);
    end if;
    continue when not v_queue.is_first;

    execute format(
      'insert into pgmq.%1$I (msg_id, read_ct, enqueued_at, vt, message, headers) overriding system value
       select q.msg_id, q.read_ct, q.enqueued_at, q.vt, q.message, q.headers from pgmq_before.%1$I q',
      v_queue.queue
    );
    execute format(
      'insert into pgmq.%1$I (msg_id, read_ct, enqueued_at, archived_at, vt, message, headers)
       select a.msg_id, a.read_ct, a.enqueued_at, a.archived_at, a.vt, a.message, a.headers from pgmq_before.%1$I a',
      v_queue.archive
    );
    -- Ids go on where they were, also when the last messages are gone.
    execute format(
      'select s.last_value from pgmq_before.%I s where s.is_called', v_queue.queue || '_msg_id_seq'
    ) into v_last;
    if v_last is not null then
      perform setval(format('pgmq.%I', v_queue.queue || '_msg_id_seq')::regclass, v_last);
    end if;
  end loop;
end;
$$;
