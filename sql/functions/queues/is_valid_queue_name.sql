-- pgflow.is_valid_queue_name: whether a text may be a persisted route.
-- Called by: clients; the tables' CHECKs hold the same rule.    Locks: none.
-- Promises: not empty, at most 47 characters, lower case.
-- Refuses: nothing; anything else, NULL included, is false.
create or replace function pgflow.is_valid_queue_name(queue_name text) returns boolean
language sql immutable parallel safe set search_path = pg_catalog, pg_temp
as $$
  select coalesce(
    queue_name <> '' and length(queue_name) <= 47 and queue_name = lower(queue_name collate "C"),
    false
  )
$$;
