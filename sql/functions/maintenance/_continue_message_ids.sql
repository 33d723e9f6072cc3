-- pgflow._continue_message_ids: a queue that was made anew counts on from the last message that its tasks or its archive
--   remember.
-- Called by: requeue_tasks, restore_queues, _create_queue, before anything is sent.
-- Locks: the queue, then its archive, as who drops them; the queue against writers, if it is behind.
-- A sequence can only be read from end to end: without such reads its plan looks so dear that the server compiles it to machine
--   code, half a second for each queue.
-- Promises: no new message gets an id that a task of this queue or an archived message has, or had: (queue_name, message_id)
--   names one task.

create or replace function pgflow._continue_message_ids(p_queue_name text)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_table constant text := format('pgmq.%I', pgmq.format_table_name(p_queue_name, 'q'));
  v_archive constant text := format('pgmq.%I', pgmq.format_table_name(p_queue_name, 'a'));
  v_sequence text;
  v_used bigint;
  v_archived bigint;
  v_is_behind boolean;
begin
  execute format('lock table %s in access share mode', v_table);
  v_sequence := pg_get_serial_sequence(v_table, 'msg_id');
  v_used := (select max(t.message_id) from pgflow.step_tasks t where t.queue_name = lower(p_queue_name collate "C"));
  if to_regclass(v_archive) is not null then
    execute format('select max(a.msg_id) from %s a', v_archive) into v_archived;
    v_used := greatest(v_used, v_archived);
  end if;
  execute format('select s.last_value < $1 or s.last_value = $1 and not s.is_called from %s s', v_sequence)
    into v_is_behind using v_used;
  if v_is_behind then
    execute format('lock table %s in share row exclusive mode', v_table);
    perform setval(v_sequence, greatest(v_used, nextval(v_sequence)));
  end if;
end;
$$;
