-- pgflow._existing_queue: the name of a queue that exists.
-- Called by: what cannot do without it: steps that start, claims, set_vt_batch, next_visible_at, requeue_tasks. What ends
--   work or gives it back leaves out what is missing instead, see _queue_exists.
-- Locks: the queue's table, for the moment of the look.
-- Refuses: queue_missing (42P01), when somebody dropped it.

create or replace function pgflow._existing_queue(queue_name text)
returns text
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if pgflow._queue_exists(queue_name) then
    return queue_name;
  end if;
  raise exception using
    errcode = 'undefined_table',
    constraint = 'pgflow_queue_missing',
    message = format('Queue "%s" does not exist.', coalesce(queue_name, 'NULL')),
    detail = 'It was dropped or not restored; messages in it are gone.',
    hint = 'Find out why. End its runs with pgflow.cancel_run; or make it again with pgflow.restore_queues and give the tasks '
      'that pgflow.stalled_tasks lists to pgflow.requeue_tasks.';
end;
$$;
