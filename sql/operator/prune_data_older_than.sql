-- Removes what ended long ago: install it when you want it, replace it when you want something else.
--
--   select pgflow.prune_data_older_than(interval '30 days');   one transaction
--   call pgflow.prune_data(interval '30 days');                many short transactions, for a database at work
--
-- Gone are workers whose last heartbeat is older, runs that completed or failed earlier with all their rows and messages,
-- older rows of archives, and older events of the sink `table`. Archives belong to the routes of existing flows: every step's
-- queue, and the default queue of flows in flow mode only. Active runs, live workers and definitions stay, whatever the
-- interval.

-- pgflow._prune_workers: all silent workers; returns how many. One that has not stopped and was heard within the last minute
-- is alive, and may hold tasks.
create or replace function pgflow._prune_workers(p_before timestamptz) returns int
language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
  v_count int;
begin
  delete from pgflow.workers w
    where w.last_heartbeat_at < p_before
      and (w.stopped_at is not null or w.last_heartbeat_at < clock_timestamp() - interval '1 minute');
  get diagnostics v_count = row_count;
  return v_count;
end;
$$;

-- pgflow._prune_runs: up to batch_size ended runs, oldest flow by flow; returns how many. Runs are locked first, as everywhere;
-- one that a late result or a deletion holds is left for the next time.
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
            for update skip locked
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
    begin
      perform pgmq.delete(v_queue.queue_name, v_queue.message_ids);
    exception when undefined_table then
      null; -- somebody dropped the queue, even while this waited for it
    end;
  end loop;

  delete from pgflow.step_tasks t where t.run_id = any (v_runs);
  delete from pgflow.step_states s where s.run_id = any (v_runs);
  delete from pgflow.runs r where r.run_id = any (v_runs);
  return coalesce(cardinality(v_runs), 0);
end;
$$;

-- pgflow._prune_archive: up to batch_size archived messages of one queue; returns how many. None of a queue that belongs to no
-- flow: an operator may call this with the owner's rights. None of one that was dropped, even while this waited for it.
create or replace function pgflow._prune_archive(p_queue_name text, p_before timestamptz, p_batch_size int) returns int
language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
  v_archive constant text := pgmq.format_table_name(p_queue_name, 'a');
  v_count int;
begin
  if not exists (select from pgflow._pruned_queues() queue where queue = p_queue_name) then
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
exception when undefined_table then
  return 0;
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

-- pgflow._prune_events: of the batch_size oldest events, those that are old enough; returns how many. Ids follow time, so nobody
-- needs an index on it; the events that two sessions wrote at the same moment may go one call later.
create or replace function pgflow._prune_events(p_before timestamptz, p_batch_size int) returns int
language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
  v_count int;
begin
  if to_regclass('pgflow.event_log') is null then
    return 0;
  end if;
  delete from pgflow.event_log e
    where e.id = any(array(
      select oldest.id
        from (select log.id, log.at from pgflow.event_log log order by log.id limit p_batch_size) oldest
        where oldest.at < p_before
    ));
  get diagnostics v_count = row_count;
  return v_count;
end;
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
  perform pgflow._prune_events(v_before, v_everything);
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
  if batch_size operator(pg_catalog.<) 1 or batch_size is null then
    raise exception using
      errcode = 'invalid_parameter_value',
      constraint = 'pgflow_batch_size',
      message = pg_catalog.format('A chunk of %s rows cannot be pruned.', coalesce(batch_size::pg_catalog.text, 'NULL')),
      detail = 'prune_data removes batch_size rows in each transaction.',
      hint = 'Use 1 or more; 1000 is the default.';
  end if;

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
  while pgflow._prune_events(v_before, batch_size) operator(pg_catalog.>) 0 loop
    commit;
  end loop;
end;
$$;

-- Nothing for PUBLIC, as everywhere.
revoke execute on function pgflow._prune_workers(timestamptz), pgflow._prune_runs(timestamptz, int),
  pgflow._prune_archive(text, timestamptz, int), pgflow._pruned_queues(), pgflow._prune_events(timestamptz, int),
  pgflow.prune_data_older_than(interval) from public;
revoke execute on procedure pgflow.prune_data(interval, int) from public;
