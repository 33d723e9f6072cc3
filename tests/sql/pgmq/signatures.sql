-- Every function of PGMQ 1.6 is there under its name, with its parameters' names, types and defaults, and its result.
begin;
select plan(6);

create temp table wanted (signature text);
insert into wanted values
  ('archive(queue_name text, msg_id bigint) boolean'),
  ('archive(queue_name text, msg_ids bigint[]) SETOF bigint'),
  ('create(queue_name text) void'),
  ('create_non_partitioned(queue_name text) void'),
  ('create_partitioned(queue_name text, partition_interval text DEFAULT ''10000''::text, retention_interval text DEFAULT ''100000''::text) void'),
  ('create_unlogged(queue_name text) void'),
  ('delete(queue_name text, msg_id bigint) boolean'),
  ('delete(queue_name text, msg_ids bigint[]) SETOF bigint'),
  ('detach_archive(queue_name text) void'),
  ('drop_queue(queue_name text) boolean'),
  ('drop_queue(queue_name text, partitioned boolean) boolean'),
  ('format_table_name(queue_name text, prefix text) text'),
  ('list_queues() SETOF pgmq.queue_record'),
  ('metrics(queue_name text) pgmq.metrics_result'),
  ('metrics_all() SETOF pgmq.metrics_result'),
  ('pop(queue_name text) SETOF pgmq.message_record'),
  ('pop(queue_name text, qty integer) SETOF pgmq.message_record'),
  ('purge_queue(queue_name text) bigint'),
  ('read(queue_name text, vt integer, qty integer, conditional jsonb DEFAULT ''{}''::jsonb) SETOF pgmq.message_record'),
  ('read_with_poll(queue_name text, vt integer, qty integer, max_poll_seconds integer DEFAULT 5, poll_interval_ms integer DEFAULT 100, conditional jsonb DEFAULT ''{}''::jsonb) SETOF pgmq.message_record'),
  ('send(queue_name text, msg jsonb) SETOF bigint'),
  ('send(queue_name text, msg jsonb, delay integer) SETOF bigint'),
  ('send(queue_name text, msg jsonb, delay timestamp with time zone) SETOF bigint'),
  ('send(queue_name text, msg jsonb, headers jsonb) SETOF bigint'),
  ('send(queue_name text, msg jsonb, headers jsonb, delay integer) SETOF bigint'),
  ('send(queue_name text, msg jsonb, headers jsonb, delay timestamp with time zone) SETOF bigint'),
  ('send_batch(queue_name text, msgs jsonb[]) SETOF bigint'),
  ('send_batch(queue_name text, msgs jsonb[], delay integer) SETOF bigint'),
  ('send_batch(queue_name text, msgs jsonb[], delay timestamp with time zone) SETOF bigint'),
  ('send_batch(queue_name text, msgs jsonb[], headers jsonb[]) SETOF bigint'),
  ('send_batch(queue_name text, msgs jsonb[], headers jsonb[], delay integer) SETOF bigint'),
  ('send_batch(queue_name text, msgs jsonb[], headers jsonb[], delay timestamp with time zone) SETOF bigint'),
  ('set_vt(queue_name text, msg_id bigint, vt integer) SETOF pgmq.message_record'),
  ('set_vt(queue_name text, msg_ids bigint[], vt integer) SETOF pgmq.message_record'),
  ('validate_queue_name(queue_name text) void');

select set_eq(
  $$ select p.proname || '(' || pg_get_function_arguments(p.oid) || ') ' || pg_get_function_result(p.oid)
       from pg_proc p where p.pronamespace = 'pgmq'::regnamespace and p.proname not like '\_%' and p.proname <> 'acquire_queue_lock' $$,
  $$ select signature from wanted $$, 'all functions'
);

create function tap.fields(p_type regclass) returns text language sql as $$
  select string_agg(attname || ' ' || format_type(atttypid, atttypmod), ', ' order by attnum)
    from pg_attribute where attrelid = p_type and attnum > 0
$$;
select is(tap.fields('pgmq.message_record'),
  'msg_id bigint, read_ct integer, enqueued_at timestamp with time zone, vt timestamp with time zone, message jsonb, headers jsonb', 'message_record');
select is(tap.fields('pgmq.queue_record'),
  'queue_name character varying, is_partitioned boolean, is_unlogged boolean, created_at timestamp with time zone', 'queue_record');
select is(tap.fields('pgmq.metrics_result'),
  'queue_name text, queue_length bigint, newest_msg_age_sec integer, oldest_msg_age_sec integer, total_messages bigint, '
    'scrape_time timestamp with time zone, queue_visible_length bigint', 'metrics_result');
select is(tap.fields('pgmq.meta'),
  'queue_name character varying, is_partitioned boolean, is_unlogged boolean, created_at timestamp with time zone', 'meta');
select col_is_unique('pgmq', 'meta', 'queue_name', 'a spelling is listed once');

select * from finish();
rollback;
