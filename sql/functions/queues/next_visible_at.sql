-- pgflow.next_visible_at: when the next message of a queue becomes visible; a moment that is over means there is one now.
-- Called by: workers that wait for delayed and retried tasks.    Locks: none.
-- Promises: NULL for an empty queue. A queue that has a visible message answers from its first rows; one whose messages
--   are all delayed or in hand is read as a whole.
-- Refuses: a queue of no flow (queue_unknown, 42P01), one that was dropped (queue_missing, 42P01).

create or replace function pgflow.next_visible_at(queue_name text)
returns timestamptz
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_table text := pgmq.format_table_name(pgflow._existing_queue(pgflow._flow_queue(queue_name)), 'q');
  v_at timestamptz;
begin
  execute format('select q.vt from pgmq.%I q where q.vt <= clock_timestamp() limit 1', v_table) into v_at;
  if v_at is null then
    execute format('select min(q.vt) from pgmq.%I q', v_table) into v_at;
  end if;
  return v_at;
end;
$$;
