-- pgflow.delete_flow_and_data: removes one flow, its runs and the queues that it owns.
-- Called by: ensure_flow_compiled on a local database, operators.
-- Locks: the definition, the flow's starts, its runs (ascending), step_tasks, the queues, and the flow's row last. Whoever
--   settles holds a run and then asks for the flow's row (its foreign key is checked again at a run's second change in one
--   transaction); whoever starts holds the flow's row, and waits for nothing of ours.
-- Promises: only the exact spelling of an existing flow does anything. It owns its steps' routes, and lower(slug) in flow
--   mode only: a queue of that name beside a step-mode flow is somebody else's. All or nothing.
-- Refuses: isolation_level, queue_ambiguous (42P09).
create or replace function pgflow.delete_flow_and_data(p_flow_slug text) returns void
language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
  v_queue text;
begin
  perform pgflow._require_read_committed('delete_flow_and_data');
  perform pgflow._lock_definition(p_flow_slug);
  -- No run of it starts from here on, and one that is about to start is waited for, while we hold nothing else.
  perform pg_advisory_xact_lock(3, hashtext(lower(p_flow_slug collate "C")));
  if not exists (select from pgflow.flows f where f.flow_slug = p_flow_slug) then
    return;
  end if;

  -- Runs, tasks, then queues, as everything takes them that is at work on the flow: a call that holds a task and goes on to
  -- its message must not find the queue locked by us, while we wait for its task.
  perform from pgflow.runs r where r.flow_slug = p_flow_slug order by r.run_id for update;
  delete from pgflow.step_tasks t using pgflow.runs r where r.flow_slug = p_flow_slug and t.run_id = r.run_id;

  -- A name that is not listed is skipped: some versions of PGMQ raise when they shall drop it.
  for v_queue in
    select owned.name
      from (
        select s.queue_name as name from pgflow.steps s where s.flow_slug = p_flow_slug
        union
        select lower(f.flow_slug collate "C") from pgflow.flows f
          where f.flow_slug = p_flow_slug and f.queue_mode = 'flow'
      ) owned
      where exists (select from pgmq.list_queues() q where lower(q.queue_name::text collate "C") = owned.name)
      order by owned.name collate "C"
  loop
    perform pgmq.drop_queue(pgflow._listed_queue_name(v_queue));
  end loop;

  delete from pgflow.step_states s using pgflow.runs r where r.flow_slug = p_flow_slug and s.run_id = r.run_id;
  delete from pgflow.runs r where r.flow_slug = p_flow_slug;
  delete from pgflow.deps d where d.flow_slug = p_flow_slug;
  delete from pgflow.steps s where s.flow_slug = p_flow_slug;
  delete from pgflow.flows f where f.flow_slug = p_flow_slug;
end;
$$;
