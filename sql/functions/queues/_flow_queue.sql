-- pgflow._flow_queue: the name of a queue that belongs to a flow, whether it exists or not.
-- Called by: what the role pgflow_worker may ask of a queue with the owner's rights: set_vt_batch, next_visible_at.
-- Locks: none.
-- Refuses: a queue of no flow (queue_unknown, 42P01).

create or replace function pgflow._flow_queue(queue_name text)
returns text
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_route constant text := lower(_flow_queue.queue_name collate "C");
begin
  if exists (select from pgflow.steps s where s.queue_name = v_route)
    or exists (
      select from pgflow.flows f where lower(f.flow_slug collate "C") = v_route and f.queue_mode = 'flow'
    )
  then
    return queue_name;
  end if;
  raise exception using
    errcode = 'undefined_table',
    constraint = 'pgflow_queue_unknown',
    message = format('No flow has a queue "%s".', coalesce(queue_name, 'NULL')),
    detail = 'Queues that belong to no flow are out of reach here, whether they exist or not.',
    hint = 'Look the route up in pgflow.steps; for other queues use the functions of schema pgmq.';
end;
$$;
