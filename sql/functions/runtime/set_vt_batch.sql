-- pgflow.set_vt_batch: make messages of a flow's queue visible vt_offsets[i] seconds from now, in one statement.
-- Called by: workers that postpone messages.    Locks: queue rows.
-- Promises: returns the rows found; unknown ids are ignored; empty or NULL lists change nothing.
-- Refuses: lists of different lengths; offsets that are no plain list of numbers (argument_invalid, 22023); a queue of no
--   flow (queue_unknown, 42P01): the role pgflow_worker may call this, with the owner's rights; one that was dropped
--   (queue_missing, 42P01).

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
  if array_ndims(vt_offsets) > 1 or array_position(vt_offsets, null) is not null then
    perform pgflow._refuse_argument('set_vt_batch', 'vt_offsets', vt_offsets::text, 'numbers of seconds');
  end if;

  perform pgflow._flow_queue(queue_name);
  return query
    select m.msg_id, m.read_ct, m.enqueued_at, m.vt, m.message, m.headers
      from pgflow._set_vt_batch(set_vt_batch.queue_name, msg_ids, vt_offsets) m;
end;
$$;
