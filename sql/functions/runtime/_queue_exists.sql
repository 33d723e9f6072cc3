-- pgflow._queue_exists: whether a queue has its two tables, in whatever spelling it is named.
-- Called by: what archives messages or shows them again, for a queue that somebody dropped has none.    Locks: none.
-- Promises: one look into the catalog for each; a queue without its archive is none, because nothing could leave it; written as an expression, which starts no statement.

create or replace function pgflow._queue_exists(queue_name text)
returns boolean
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return queue_name is not null
    and to_regclass(format('pgmq.%I', pgmq.format_table_name(queue_name, 'q'))) is not null
    and to_regclass(format('pgmq.%I', pgmq.format_table_name(queue_name, 'a'))) is not null;
end;
$$;
