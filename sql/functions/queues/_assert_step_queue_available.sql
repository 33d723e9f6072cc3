-- pgflow._assert_step_queue_available: the same question for one name.
-- Called by: direct SQL.    Locks: none.
-- Promises: true when the caller must create the queue, false when this exact flow owns it and it is listed.
-- Refuses: what _assert_step_queues_available refuses.
create or replace function pgflow._assert_step_queue_available(p_flow_slug text, p_queue_name text) returns boolean
language sql stable set search_path = pg_catalog, pg_temp
as $$
  select cardinality(pgflow._assert_step_queues_available(p_flow_slug, array[p_queue_name])) = 1
$$;
