-- pgflow.schema_version: the number of the newest applied migration.
-- Called by: the migrator, workers and the supervisor at their start.    Locks: none.
-- Promises: compares with the number a program was built for.
-- Refuses: nothing.
create or replace function pgflow.schema_version() returns int
language sql stable set search_path = pg_catalog, pg_temp
as $$
  select max(m.version) from pgflow.schema_migrations m
$$;
