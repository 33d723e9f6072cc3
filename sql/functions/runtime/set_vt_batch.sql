-- pgflow.set_vt_batch: make messages visible vt_offsets[i] seconds from now, in one statement.
-- Called by: _claim_tasks, _fail_tasks, recovery and release; workers that postpone messages.    Locks: queue rows.
-- Promises: returns the rows found; unknown ids are ignored; empty or NULL lists change nothing.
-- Refuses: lists of different lengths; an unknown queue (queue_missing, 42P01).

create or replace function pgflow.set_vt_batch(queue_name text, msg_ids bigint[], vt_offsets int[])
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
  if coalesce(cardinality(msg_ids), 0) = 0 or coalesce(cardinality(vt_offsets), 0) = 0 then
    return;
  end if;
  if cardinality(msg_ids) <> cardinality(vt_offsets) then
    raise exception using
      constraint = 'pgflow_vt_batch_length',
      message = format(
        'msg_ids length (%s) must equal vt_offsets length (%s)', cardinality(msg_ids), cardinality(vt_offsets)
      ),
      detail = format('Queue "%s"; nothing was changed.', queue_name),
      hint = 'Pass one offset for each message id.';
  end if;

  -- The table's name is data, so this is the one statement here that is planned at each call.
  return query execute format(
    'update pgmq.%I q set vt = clock_timestamp() + make_interval(secs => wanted.vt_offset)
      from unnest($1, $2) as wanted (msg_id, vt_offset)
      where q.msg_id = wanted.msg_id
      returning q.msg_id, q.read_ct, q.enqueued_at, q.vt, q.message, q.headers',
    pgmq.format_table_name(pgflow._existing_queue(queue_name), 'q')
  ) using msg_ids, vt_offsets;
end;
$$;
