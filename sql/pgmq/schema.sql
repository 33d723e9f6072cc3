-- Our PGMQ: the public API and layout of PGMQ 1.6 for servers without the extension.
-- Promises: same names, parameters, types, tables and spelling rules; the real extension can take its place.
-- This file is installed once; the functions beside it are replaced whole at every `pgflow migrate up`.
-- Differs: a queue has no index on vt. read walks the primary key (the oldest visible message is near its start), and
-- without that index every lease is an update that stays on its page.

create schema pgmq;
comment on schema pgmq is 'PGMQ-compatible queues installed by pgflow; the extension of the same name is not installed';

-- Marks this schema as ours. The extension has no such function.
create function pgmq._fallback_version() returns int
language sql immutable set search_path = pg_catalog, pg_temp
as $$ select 1 $$;

create table pgmq.meta (
  queue_name varchar not null unique,
  is_partitioned boolean not null,
  is_unlogged boolean not null,
  created_at timestamptz not null default now()
);

create type pgmq.message_record as (
  msg_id bigint,
  read_ct int,
  enqueued_at timestamptz,
  vt timestamptz,
  message jsonb,
  headers jsonb
);

create type pgmq.queue_record as (
  queue_name varchar,
  is_partitioned boolean,
  is_unlogged boolean,
  created_at timestamptz
);

create type pgmq.metrics_result as (
  queue_name text,
  queue_length bigint,
  newest_msg_age_sec int,
  oldest_msg_age_sec int,
  total_messages bigint,
  scrape_time timestamptz,
  queue_visible_length bigint
);
