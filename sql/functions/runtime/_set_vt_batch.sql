-- pgflow._set_vt_batch: make messages visible vt_offsets[i] seconds from now, in one statement.
-- Called by: _claim_tasks, _show_messages, with a queue that they know to be a flow's; set_vt_batch.    Locks: queue rows.
-- Promises: returns the rows found; unknown ids are ignored. A claimed message counts as read, see _tasks_in_hand.
-- Refuses: a queue that was dropped (queue_missing, 42P01).

create or replace function pgflow._set_vt_batch(queue_name text, msg_ids bigint[], vt_offsets int[], is_claim boolean default false)
returns table (
  msg_id bigint,
  read_ct int,
  enqueued_at timestamptz,
  vt timestamptz,
  message jsonb,
  headers jsonb
)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
begin
  -- The table's name is data, so this is the one statement here that is planned at each call.
  return query execute format(
    'update pgmq.%I q set vt = clock_timestamp() + make_interval(secs => wanted.vt_offset),
        read_ct = case when $3 then greatest(q.read_ct, 1) else q.read_ct end
      from unnest($1, $2) as wanted (msg_id, vt_offset)
      where q.msg_id = wanted.msg_id
      returning q.msg_id, q.read_ct, q.enqueued_at, q.vt, q.message, q.headers',
    pgmq.format_table_name(pgflow._existing_queue(queue_name), 'q')
  ) using msg_ids, vt_offsets, is_claim;
end;
$$;
