-- pgflow._registered_queues: where the tasks lie that a worker which registered for this queue may have in hand.
-- Called by: _hold_tasks_in_hand, drain_status.    Locks: none.
-- Promises: the queue; the queues of all flows when it is none of them, for a foreign worker may register for anything.

create or replace function pgflow._registered_queues(queue_name text)
returns text[]
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if exists (select from pgflow.steps s where s.queue_name = _registered_queues.queue_name) then
    return array[queue_name];
  end if;
  return array(select distinct s.queue_name from pgflow.steps s);
end;
$$;
