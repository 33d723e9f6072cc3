-- Removes what ended long ago: install it when you want it, replace it when you want something else.
--
--   select pgflow.prune_data_older_than(interval '30 days');   one transaction
--   call pgflow.prune_data(interval '30 days');                many short transactions, for a database at work
--
-- Gone are workers whose last heartbeat is older, runs that completed or failed earlier with all their rows and messages,
-- and older rows of archives. Archives belong to the routes of existing flows: every step's queue, and the default queue
-- of flows in flow mode only. Active runs and definitions stay.

-- pgflow._prune_workers: all silent workers; returns how many.
create or replace function pgflow._prune_workers(p_before timestamptz) returns int
language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
  v_count int;
begin
  delete from pgflow.workers w where w.last_heartbeat_at < p_before;
  get diagnostics v_count = row_count;
  return v_count;
end;
$$;

-- pgflow._prune_runs: up to batch_size ended runs, oldest flow by flow; returns how many.
create or replace function pgflow._prune_runs(p_before timestamptz, p_batch_size int) returns int
language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
  v_runs uuid[];
  v_queue record;
begin
  -- A run that ended before a moment started before it: the index on (flow_slug, started_at) bounds the search.
  select array_agg(ended.run_id) into v_runs
    from (
      select r.run_id
        from pgflow.flows f
        cross join lateral (
          select r.run_id from pgflow.runs r
            where r.flow_slug = f.flow_slug and r.started_at < p_before
              and coalesce(r.completed_at, r.failed_at) < p_before
            order by r.started_at limit p_batch_size
        ) r
        limit p_batch_size
    ) ended;

  for v_queue in
    select t.queue_name, array_agg(t.message_id) as message_ids
      from pgflow.step_tasks t
      where t.run_id = any (v_runs) and t.message_id is not null
      group by t.queue_name
      order by t.queue_name
  loop
    if to_regclass(format('pgmq.%I', pgmq.format_table_name(v_queue.queue_name, 'q'))) is not null then
      perform pgmq.delete(v_queue.queue_name, v_queue.message_ids);
    end if;
  end loop;

  delete from pgflow.step_tasks t where t.run_id = any (v_runs);
  delete from pgflow.step_states s where s.run_id = any (v_runs);
  delete from pgflow.runs r where r.run_id = any (v_runs);
  return coalesce(cardinality(v_runs), 0);
end;
$$;

-- pgflow._prune_archive: up to batch_size archived messages of one queue; returns how many.
create or replace function pgflow._prune_archive(p_queue_name text, p_before timestamptz, p_batch_size int) returns int
language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
  v_archive constant text := pgmq.format_table_name(p_queue_name, 'a');
  v_count int;
begin
  if to_regclass(format('pgmq.%I', v_archive)) is null then
    return 0;
  end if;
  execute format(
    'delete from pgmq.%1$I a where a.msg_id = any(array(
       select old.msg_id from pgmq.%1$I old where old.archived_at < $1 limit $2
     ))',
    v_archive
  ) using p_before, p_batch_size;
  get diagnostics v_count = row_count;
  return v_count;
end;
$$;

create or replace function pgflow._pruned_queues() returns setof text
language sql stable set search_path = pg_catalog, pg_temp
as $$
  select s.queue_name from pgflow.steps s
  union
  select lower(f.flow_slug collate "C") from pgflow.flows f where f.queue_mode = 'flow'
  order by 1
$$;

create or replace function pgflow.prune_data_older_than(retention_interval interval) returns void
language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
  v_before constant timestamptz := now() - retention_interval;
  v_everything constant int := 2147483647;
begin
  perform pgflow._prune_workers(v_before);
  perform pgflow._prune_runs(v_before, v_everything);
  perform pgflow._prune_archive(queue, v_before, v_everything) from pgflow._pruned_queues() queue;
end;
$$;

-- A procedure that commits takes no SET clause: every name in it is qualified instead.
create or replace procedure pgflow.prune_data(retention_interval interval, batch_size int default 1000)
language plpgsql
as $$
declare
  v_before constant timestamptz := pg_catalog.now() operator(pg_catalog.-) retention_interval;
  v_queue text;
begin
  perform pgflow._prune_workers(v_before);
  commit;
  while pgflow._prune_runs(v_before, batch_size) operator(pg_catalog.>) 0 loop
    commit;
  end loop;
  for v_queue in select queue from pgflow._pruned_queues() queue loop
    while pgflow._prune_archive(v_queue, v_before, batch_size) operator(pg_catalog.>) 0 loop
      commit;
    end loop;
  end loop;
end;
$$;

-- Nothing for PUBLIC, as everywhere.
revoke execute on function pgflow._prune_workers(timestamptz), pgflow._prune_runs(timestamptz, int),
  pgflow._prune_archive(text, timestamptz, int), pgflow._pruned_queues(), pgflow.prune_data_older_than(interval) from public;
revoke execute on procedure pgflow.prune_data(interval, int) from public;
