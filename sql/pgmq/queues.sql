-- PGMQ's queue operations: names, create, drop, list, measure.

-- pgmq.format_table_name: the table of a queue; prefix q is the queue, a its archive.
create or replace function pgmq.format_table_name(queue_name text, prefix text) returns text
language plpgsql immutable set search_path = pg_catalog, pg_temp
as $$
begin
  if queue_name ~ '[$;'']|--' then
    raise exception 'queue name contains invalid characters: $, ;, --, or ''';
  end if;
  return lower((prefix || '_' || queue_name) collate "C");
end;
$$;

-- 47, so that template_pgmq_q_<name> is a name PostgreSQL does not cut.
create or replace function pgmq.validate_queue_name(queue_name text) returns void
language plpgsql immutable set search_path = pg_catalog, pg_temp
as $$
begin
  if length(queue_name) > 47 then
    raise exception 'queue name is too long, maximum length is 47 characters'
      using detail = format('"%s" has %s.', queue_name, length(queue_name));
  end if;
end;
$$;

-- Creation and removal of one queue wait for each other until the end of the transaction.
create or replace function pgmq.acquire_queue_lock(queue_name text) returns void
language sql set search_path = pg_catalog, pg_temp
as $$
  select pg_advisory_xact_lock(hashtext('pgmq.queue_' || lower(queue_name collate "C")))
$$;

create or replace function pgmq._create(queue_name text, is_unlogged boolean) returns void
language plpgsql set search_path = pg_catalog, pg_temp set client_min_messages = warning
as $$
declare
  v_queue text := pgmq.format_table_name(queue_name, 'q');
  v_archive text := pgmq.format_table_name(queue_name, 'a');
begin
  perform pgmq.validate_queue_name(queue_name);
  perform pgmq.acquire_queue_lock(queue_name);

  -- Rows live seconds: space for updates in their page, and a vacuum that keeps up.
  execute format(
    'create %s table if not exists pgmq.%I (
       msg_id bigint primary key generated always as identity,
       read_ct int not null default 0,
       enqueued_at timestamptz not null default now(),
       vt timestamptz not null,
       message jsonb,
       headers jsonb
     ) with (
       fillfactor = 50, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 0
     )',
    case when is_unlogged then 'unlogged' else '' end, v_queue
  );
  execute format(
    'create table if not exists pgmq.%I (
       msg_id bigint primary key,
       read_ct int not null default 0,
       enqueued_at timestamptz not null default now(),
       archived_at timestamptz not null default now(),
       vt timestamptz not null,
       message jsonb,
       headers jsonb
     )',
    v_archive
  );
  execute format(
    'create index if not exists %I on pgmq.%I (archived_at)', 'archived_at_idx_' || queue_name, v_archive
  );

  insert into pgmq.meta (queue_name, is_partitioned, is_unlogged)
  values (_create.queue_name, false, _create.is_unlogged)
  on conflict do nothing;
end;
$$;

create or replace function pgmq.create_non_partitioned(queue_name text) returns void
language sql set search_path = pg_catalog, pg_temp
as $$ select pgmq._create(queue_name, false) $$;

create or replace function pgmq.create(queue_name text) returns void
language sql set search_path = pg_catalog, pg_temp
as $$ select pgmq._create(queue_name, false) $$;

create or replace function pgmq.create_unlogged(queue_name text) returns void
language sql set search_path = pg_catalog, pg_temp
as $$ select pgmq._create(queue_name, true) $$;

create or replace function pgmq.create_partitioned(
  queue_name text,
  partition_interval text default '10000',
  retention_interval text default '100000'
) returns void
language plpgsql set search_path = pg_catalog, pg_temp
as $$
begin
  raise exception 'partitioned queues need the pgmq and pg_partman extensions'
    using errcode = 'feature_not_supported', hint = 'Create a plain queue with pgmq.create, or install the extensions.';
end;
$$;

-- pgmq.drop_queue: drops what exactly this spelling created; false and a notice when it is not listed.
create or replace function pgmq.drop_queue(queue_name text) returns boolean
language plpgsql set search_path = pg_catalog, pg_temp
as $$
begin
  perform pgmq.acquire_queue_lock(queue_name);

  delete from pgmq.meta m where m.queue_name = drop_queue.queue_name;
  if not found then
    raise notice 'pgmq queue `%` does not exist', queue_name;
    return false;
  end if;

  execute format('drop table if exists pgmq.%I', pgmq.format_table_name(queue_name, 'q'));
  execute format('drop table if exists pgmq.%I', pgmq.format_table_name(queue_name, 'a'));
  return true;
end;
$$;

create or replace function pgmq.drop_queue(queue_name text, partitioned boolean) returns boolean
language plpgsql set search_path = pg_catalog, pg_temp
as $$
begin
  raise warning 'drop_queue(queue_name, partitioned) is deprecated, call drop_queue(queue_name)';
  return pgmq.drop_queue(queue_name);
end;
$$;

create or replace function pgmq.list_queues() returns setof pgmq.queue_record
language sql stable set search_path = pg_catalog, pg_temp
as $$
  select m.queue_name, m.is_partitioned, m.is_unlogged, m.created_at from pgmq.meta m
$$;

create or replace function pgmq.metrics(queue_name text) returns pgmq.metrics_result
language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
  v_queue text := pgmq.format_table_name(queue_name, 'q');
  v_result pgmq.metrics_result;
begin
  execute format(
    'select
       count(*),
       extract(epoch from now() - max(q.enqueued_at))::int,
       extract(epoch from now() - min(q.enqueued_at))::int,
       (select case when s.is_called then s.last_value else 0 end from pgmq.%I s),
       count(*) filter (where q.vt <= clock_timestamp())
     from pgmq.%I q',
    v_queue || '_msg_id_seq', v_queue
  ) into v_result.queue_length, v_result.newest_msg_age_sec, v_result.oldest_msg_age_sec, v_result.total_messages,
    v_result.queue_visible_length;
  v_result.queue_name := queue_name;
  v_result.scrape_time := now();
  return v_result;
end;
$$;

create or replace function pgmq.metrics_all() returns setof pgmq.metrics_result
language sql set search_path = pg_catalog, pg_temp
as $$
  select (pgmq.metrics(m.queue_name)).* from pgmq.meta m
$$;

-- The extension needed this to keep an archive when it was dropped; our tables belong to no extension.
create or replace function pgmq.detach_archive(queue_name text) returns void
language plpgsql set search_path = pg_catalog, pg_temp
as $$
begin
  raise warning 'detach_archive is deprecated and does nothing';
end;
$$;
