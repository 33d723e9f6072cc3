-- pgflow.register_worker: make a worker known before its first claim.
-- Called by: store::WorkerStore at start.    Locks: the function's row, the worker's row.
-- Promises: asked again with the same id (an answer was lost) it changes nothing, and a stopped worker stays stopped.
-- Refuses: NULL for what every worker has (argument_invalid, 22023).

create or replace function pgflow.register_worker(
  worker_id uuid,
  queue_name text,
  function_name text,
  start_mode text default 'process',
  pid int default null,
  host_id text default null,
  revision text default null
)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  if num_nulls(worker_id, queue_name, function_name, start_mode) > 0 then
    perform pgflow._refuse_argument(
      'register_worker',
      (array['worker_id', 'queue_name', 'function_name', 'start_mode'])[
        array_position(array[worker_id is null, queue_name is null, function_name is null, start_mode is null], true)
      ],
      null, 'given'
    );
  end if;
  perform pgflow.track_worker_function(register_worker.function_name, register_worker.start_mode);
  insert into pgflow.workers (worker_id, queue_name, function_name, pid, host_id, revision)
    values (
      register_worker.worker_id, register_worker.queue_name, register_worker.function_name,
      register_worker.pid, register_worker.host_id, register_worker.revision
    )
    on conflict on constraint workers_pkey do nothing;
end;
$$;
