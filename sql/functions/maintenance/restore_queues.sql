-- pgflow.restore_queues: make the queues of a flow again that somebody dropped.
-- Called by: operators, who then give what stalled_tasks lists to requeue_tasks.
-- Locks: the flow's definition; a queue against writers, if it counts its messages behind its tasks.
-- Promises: the names of the queues made; those that are there keep their messages. Each counts on from the last message
--   that its tasks or its archive remember, also one that was made by hand. Nothing for an unknown flow.
-- Refuses: an old snapshot (isolation_level).

create or replace function pgflow.restore_queues(p_flow_slug text)
returns setof text
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_is_fresh constant boolean := pgflow._require_read_committed('restore_queues');
  v_queue_name text;
  v_is_there boolean;
begin
  perform pgflow._lock_definition(p_flow_slug);
  for v_queue_name in
    select s.queue_name from pgflow.steps s where s.flow_slug = p_flow_slug
    union
    select lower(f.flow_slug collate "C") from pgflow.flows f where f.flow_slug = p_flow_slug and f.queue_mode = 'flow'
    order by 1
  loop
    v_is_there := pgflow._queue_exists(v_queue_name)
      and exists (select from pgmq.list_queues() q where lower(q.queue_name::text collate "C") = v_queue_name);
    if v_is_there then
      begin
        perform pgflow._continue_message_ids(v_queue_name);
      exception when undefined_table then
        v_is_there := false; -- dropped since that look
      end;
    end if;
    if not v_is_there then
      perform pgflow._create_queue(v_queue_name);
      return next v_queue_name;
    end if;
  end loop;
end;
$$;
