-- pgflow.pending_fence_acks: the live supervisors that run functions of a fence and have not said that these are quiet.
-- Called by: operators, `pgflow fence --wait`.    Locks: none.
-- Promises: live: seen within 6 s and not stopped. One that died is not waited for: its workers end with it, and SQL gives
--   them nothing. No row for a fence that is unknown.

create or replace function pgflow.pending_fence_acks(p_fence_id uuid)
returns table (generation uuid, name text, host_id text, pid int, last_seen_at timestamptz)
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return query
    select s.generation, s.name, s.host_id, s.pid, s.last_seen_at
      from pgflow.fences f
      join pgflow.supervisors s on s.function_names && f.function_names
      where f.fence_id = p_fence_id
        and s.stopped_at is null
        and s.last_seen_at > clock_timestamp() - interval '6 seconds'
        and not exists (
          select from pgflow.fence_acks a where a.fence_id = f.fence_id and a.generation = s.generation
        )
      order by s.name, s.generation;
end;
$$;
