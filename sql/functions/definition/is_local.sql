-- pgflow.is_local: whether this database belongs to a developer, who may lose data to a recompilation.
-- Called by: ensure_flow_compiled, ensure_workers.    Locks: none.
-- Promises: true for Supabase's local stack (its well-known secret) and where the setting pgflow.environment is local.
-- Refuses: nothing; without these settings a database is production.
create or replace function pgflow.is_local() returns boolean
language sql stable set search_path = pg_catalog, pg_temp
as $$
  select coalesce(
      current_setting('app.settings.jwt_secret', true) = 'super-secret-jwt-token-with-at-least-32-characters-long',
      false
    ) or coalesce(current_setting('pgflow.environment', true) = 'local', false)
$$;
