-- PGMQ's message operations. Every spelling of a queue's name reaches the one table of it.
--
-- Table names are data here, so each statement is planned at each call; it is written so that the plan cannot go wrong
-- when statistics are missing or old: by primary key, through "= any(array)", with sequential scans discouraged.

-- Send ----------------------------------------------------------------------------------------------------------------

create or replace function pgmq.send(queue_name text, msg jsonb, headers jsonb, delay timestamptz) returns setof bigint
language plpgsql set search_path = pg_catalog, pg_temp
as $$
begin
  return query execute format(
    'insert into pgmq.%I (vt, message, headers) values ($1, $2, $3) returning msg_id',
    pgmq.format_table_name(queue_name, 'q')
  ) using delay, msg, headers;
end;
$$;

create or replace function pgmq.send(queue_name text, msg jsonb) returns setof bigint
language sql set search_path = pg_catalog, pg_temp
as $$ select pgmq.send(queue_name, msg, null::jsonb, clock_timestamp()) $$;

create or replace function pgmq.send(queue_name text, msg jsonb, headers jsonb) returns setof bigint
language sql set search_path = pg_catalog, pg_temp
as $$ select pgmq.send(queue_name, msg, headers, clock_timestamp()) $$;

create or replace function pgmq.send(queue_name text, msg jsonb, delay int) returns setof bigint
language sql set search_path = pg_catalog, pg_temp
as $$ select pgmq.send(queue_name, msg, null::jsonb, clock_timestamp() + make_interval(secs => delay)) $$;

create or replace function pgmq.send(queue_name text, msg jsonb, delay timestamptz) returns setof bigint
language sql set search_path = pg_catalog, pg_temp
as $$ select pgmq.send(queue_name, msg, null::jsonb, delay) $$;

create or replace function pgmq.send(queue_name text, msg jsonb, headers jsonb, delay int) returns setof bigint
language sql set search_path = pg_catalog, pg_temp
as $$ select pgmq.send(queue_name, msg, headers, clock_timestamp() + make_interval(secs => delay)) $$;

-- pgmq.send_batch: ids come in the order of msgs; an empty array sends nothing.
create or replace function pgmq.send_batch(queue_name text, msgs jsonb[], headers jsonb[], delay timestamptz)
returns setof bigint
language plpgsql set search_path = pg_catalog, pg_temp
as $$
begin
  if cardinality(headers) <> cardinality(msgs) then
    raise exception 'headers length (%) must equal msgs length (%)', cardinality(headers), cardinality(msgs);
  end if;
  return query execute format(
    'insert into pgmq.%I (vt, message, headers)
     select $1, pair.message, pair.headers
       from unnest($2, $3) with ordinality as pair (message, headers, position)
       order by pair.position
     returning msg_id',
    pgmq.format_table_name(queue_name, 'q')
  ) using delay, msgs, headers;
end;
$$;

create or replace function pgmq.send_batch(queue_name text, msgs jsonb[]) returns setof bigint
language sql set search_path = pg_catalog, pg_temp
as $$ select pgmq.send_batch(queue_name, msgs, null::jsonb[], clock_timestamp()) $$;

create or replace function pgmq.send_batch(queue_name text, msgs jsonb[], headers jsonb[]) returns setof bigint
language sql set search_path = pg_catalog, pg_temp
as $$ select pgmq.send_batch(queue_name, msgs, headers, clock_timestamp()) $$;

create or replace function pgmq.send_batch(queue_name text, msgs jsonb[], delay int) returns setof bigint
language sql set search_path = pg_catalog, pg_temp
as $$ select pgmq.send_batch(queue_name, msgs, null::jsonb[], clock_timestamp() + make_interval(secs => delay)) $$;

create or replace function pgmq.send_batch(queue_name text, msgs jsonb[], delay timestamptz) returns setof bigint
language sql set search_path = pg_catalog, pg_temp
as $$ select pgmq.send_batch(queue_name, msgs, null::jsonb[], delay) $$;

create or replace function pgmq.send_batch(queue_name text, msgs jsonb[], headers jsonb[], delay int) returns setof bigint
language sql set search_path = pg_catalog, pg_temp
as $$ select pgmq.send_batch(queue_name, msgs, headers, clock_timestamp() + make_interval(secs => delay)) $$;

-- Receive -------------------------------------------------------------------------------------------------------------

-- pgmq.read: leases up to qty visible messages, the smallest ids first, for vt seconds.
create or replace function pgmq.read(queue_name text, vt int, qty int, conditional jsonb default '{}')
returns setof pgmq.message_record
language plpgsql set search_path = pg_catalog, pg_temp set enable_seqscan = off
as $$
begin
  return query execute format(
    'update pgmq.%1$I q
        set vt = clock_timestamp() + make_interval(secs => $1), read_ct = q.read_ct + 1
      where q.msg_id = any(array(
        select m.msg_id from pgmq.%1$I m
          where m.vt <= clock_timestamp() %2$s
          order by m.msg_id limit $2 for update skip locked
      ))
      returning q.msg_id, q.read_ct, q.enqueued_at, q.vt, q.message, q.headers',
    pgmq.format_table_name(queue_name, 'q'),
    case when conditional <> '{}' then 'and m.message @> $3' else '' end
  ) using vt, qty, conditional;
end;
$$;

-- pgmq.read_with_poll: reads again until something comes or max_poll_seconds are over; 0 seconds read nothing.
create or replace function pgmq.read_with_poll(
  queue_name text,
  vt int,
  qty int,
  max_poll_seconds int default 5,
  poll_interval_ms int default 100,
  conditional jsonb default '{}'
) returns setof pgmq.message_record
language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
  v_until timestamptz := clock_timestamp() + make_interval(secs => max_poll_seconds);
begin
  while clock_timestamp() < v_until loop
    return query select r.msg_id, r.read_ct, r.enqueued_at, r.vt, r.message, r.headers
      from pgmq.read(queue_name, vt, qty, conditional) r;
    exit when found;
    perform pg_sleep(poll_interval_ms / 1000.0);
  end loop;
end;
$$;

-- pgmq.pop: takes the qty oldest visible messages out of the queue.
create or replace function pgmq.pop(queue_name text, qty int) returns setof pgmq.message_record
language plpgsql set search_path = pg_catalog, pg_temp set enable_seqscan = off
as $$
begin
  return query execute format(
    'delete from pgmq.%1$I q
      where q.msg_id = any(array(
        select m.msg_id from pgmq.%1$I m
          where m.vt <= clock_timestamp() order by m.msg_id limit $1 for update skip locked
      ))
      returning q.msg_id, q.read_ct, q.enqueued_at, q.vt, q.message, q.headers',
    pgmq.format_table_name(queue_name, 'q')
  ) using qty;
end;
$$;

create or replace function pgmq.pop(queue_name text) returns setof pgmq.message_record
language sql set search_path = pg_catalog, pg_temp
as $$ select p.msg_id, p.read_ct, p.enqueued_at, p.vt, p.message, p.headers from pgmq.pop(queue_name, 1) p $$;

-- pgmq.set_vt: the messages are visible again vt seconds from now.
create or replace function pgmq.set_vt(queue_name text, msg_ids bigint[], vt int) returns setof pgmq.message_record
language plpgsql set search_path = pg_catalog, pg_temp set enable_seqscan = off
as $$
begin
  return query execute format(
    'update pgmq.%I q set vt = clock_timestamp() + make_interval(secs => $1)
      where q.msg_id = any($2)
      returning q.msg_id, q.read_ct, q.enqueued_at, q.vt, q.message, q.headers',
    pgmq.format_table_name(queue_name, 'q')
  ) using vt, msg_ids;
end;
$$;

create or replace function pgmq.set_vt(queue_name text, msg_id bigint, vt int) returns setof pgmq.message_record
language sql set search_path = pg_catalog, pg_temp
as $$
  select s.msg_id, s.read_ct, s.enqueued_at, s.vt, s.message, s.headers from pgmq.set_vt(queue_name, array[msg_id], vt) s
$$;

-- Finish --------------------------------------------------------------------------------------------------------------

-- pgmq.archive: moves messages to the archive and returns the ids that were there.
create or replace function pgmq.archive(queue_name text, msg_ids bigint[]) returns setof bigint
language plpgsql set search_path = pg_catalog, pg_temp set enable_seqscan = off
as $$
begin
  return query execute format(
    'with moved as (
       delete from pgmq.%I q where q.msg_id = any($1)
       returning q.msg_id, q.read_ct, q.enqueued_at, q.vt, q.message, q.headers
     )
     insert into pgmq.%I (msg_id, read_ct, enqueued_at, vt, message, headers)
     select m.msg_id, m.read_ct, m.enqueued_at, m.vt, m.message, m.headers from moved m
     returning msg_id',
    pgmq.format_table_name(queue_name, 'q'), pgmq.format_table_name(queue_name, 'a')
  ) using msg_ids;
end;
$$;

create or replace function pgmq.archive(queue_name text, msg_id bigint) returns boolean
language sql set search_path = pg_catalog, pg_temp
as $$ select exists (select from pgmq.archive(queue_name, array[msg_id])) $$;

create or replace function pgmq.delete(queue_name text, msg_ids bigint[]) returns setof bigint
language plpgsql set search_path = pg_catalog, pg_temp set enable_seqscan = off
as $$
begin
  return query execute format(
    'delete from pgmq.%I q where q.msg_id = any($1) returning q.msg_id', pgmq.format_table_name(queue_name, 'q')
  ) using msg_ids;
end;
$$;

create or replace function pgmq.delete(queue_name text, msg_id bigint) returns boolean
language sql set search_path = pg_catalog, pg_temp
as $$ select exists (select from pgmq.delete(queue_name, array[msg_id])) $$;

-- pgmq.purge_queue: empties a queue and returns how many messages it had.
create or replace function pgmq.purge_queue(queue_name text) returns bigint
language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
  v_queue text := pgmq.format_table_name(queue_name, 'q');
  v_count bigint;
begin
  execute format('lock table pgmq.%I in access exclusive mode', v_queue);
  execute format('select count(*) from pgmq.%I', v_queue) into v_count;
  execute format('truncate table pgmq.%I', v_queue);
  return v_count;
end;
$$;

-- Nothing for PUBLIC: queues are used through pgflow, or by those whom the owner grants them to.
revoke execute on all functions in schema pgmq from public;
