-- pgflow.supervisor_heartbeat: a supervisor is alive and runs these functions; tell it which fences stand around them.
-- Called by: store::FenceStore, before a supervisor's first worker and every 2 s from then on.    Locks: the supervisor's row.
-- Promises: one row for each fence that stands around one of the functions, by the time it was put up; a fence that is
--   committed before the call is among them. is_acked: ack_fence has been called. Rows of supervisors that nobody has seen
--   for a day go when another one starts.
-- Refuses: NULL (argument_invalid, 22023); an old snapshot (isolation_level), in which a fence may be missing.

create or replace function pgflow.supervisor_heartbeat(
  generation uuid,
  name text,
  host_id text,
  pid int,
  p_function_names text[]
)
returns table (fence_id uuid, function_names text[], owner text, reason text, is_acked boolean)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_is_fresh constant boolean := pgflow._require_read_committed('supervisor_heartbeat');
begin
  if num_nulls(generation, name, host_id, pid, p_function_names) > 0 then
    perform pgflow._refuse_argument(
      'supervisor_heartbeat',
      (array['generation', 'name', 'host_id', 'pid', 'p_function_names'])[
        array_position(array[generation is null, name is null, host_id is null, pid is null, p_function_names is null], true)
      ],
      null, 'given'
    );
  end if;

  update pgflow.supervisors s
    set last_seen_at = clock_timestamp(), stopped_at = null, function_names = p_function_names
    where s.generation = supervisor_heartbeat.generation;
  if not found then
    delete from pgflow.supervisors s
      where s.generation in (
        select gone.generation from pgflow.supervisors gone
          where gone.last_seen_at < clock_timestamp() - interval '1 day'
          for update skip locked
      );
    insert into pgflow.supervisors (generation, name, host_id, pid, function_names, started_at, last_seen_at)
      values (
        supervisor_heartbeat.generation, supervisor_heartbeat.name, supervisor_heartbeat.host_id,
        supervisor_heartbeat.pid, p_function_names, clock_timestamp(), clock_timestamp()
      );
  end if;

  return query
    select f.fence_id, f.function_names, f.owner, f.reason,
        exists (
          select from pgflow.fence_acks a
            where a.fence_id = f.fence_id and a.generation = supervisor_heartbeat.generation
        )
      from pgflow.fences f
      where f.fence_id in (
        select standing.fence_id from pgflow.fenced_functions standing
          where standing.function_name = any(p_function_names)
      )
      order by f.created_at, f.fence_id;
end;
$$;
