-- pgflow._require_read_committed: refuses a transaction that cannot see what others commit while it waits for them.
-- Called by: the functions that docs/sql-api.md marks *fresh*, each first.    Locks: none.
-- Promises: returns true. It starts no statement: call it as `v_is_fresh := f()` where statements are counted.
-- Refuses: isolation_level. A snapshot that is older than a lock shows a definition, a queue or a fence as it was, and
--   what is decided by it fails far from its cause (23505, 40001), or not at all.
create or replace function pgflow._require_read_committed(
  p_function text,
  p_isolation text default current_setting('transaction_isolation')
) returns boolean
language plpgsql stable set search_path = pg_catalog, pg_temp
as $$
begin
  if p_isolation in ('repeatable read', 'serializable') then
    raise exception using
      constraint = 'pgflow_isolation_level',
      message = format('pgflow.%s() cannot run in a %s transaction.', p_function, upper(p_isolation)),
      detail = 'It must see what others commit while it waits for them; such a transaction sees only what was there before.',
      hint = 'Call it in a READ COMMITTED transaction of its own.';
  end if;
  return true;
end;
$$;
