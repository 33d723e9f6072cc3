-- pgflow.poll_for_tasks: retired; says so and returns nothing.
-- Called by: clients of old versions.    Locks: none.

create or replace function pgflow.poll_for_tasks(
  queue_name text,
  vt int,
  qty int,
  max_poll_seconds int default 5,
  poll_interval_ms int default 100
)
returns setof pgflow.step_task_record
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  raise notice 'pgflow.poll_for_tasks() is retired and returns nothing'
    using hint = 'Read the queue with pgmq.read() and claim with pgflow.start_tasks().';
end;
$$;
