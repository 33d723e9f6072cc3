-- pgflow.is_valid_slug: whether a text may name a flow or a step.
-- Called by: _derive_queue_routes, create_flow, clients; the tables' CHECKs hold the same rule.    Locks: none.
-- Promises: 1-128 ASCII letters, digits and underscores; starts with a letter, ends with a letter or digit; no "__",
--   which pgflow keeps for generated queue names; not the word run.
-- Refuses: nothing; anything else, NULL included, is false.
create or replace function pgflow.is_valid_slug(slug text) returns boolean
language sql immutable parallel safe set search_path = pg_catalog, pg_temp
as $$
  select coalesce(
    slug collate "C" ~ '^[a-zA-Z](_?[a-zA-Z0-9])*$' and length(slug) <= 128 and slug <> 'run',
    false
  )
$$;
