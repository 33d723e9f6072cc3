-- pgflow._queue_exists: whether a queue has its two tables, in whatever spelling it is named.
-- Called by: what archives messages or shows them again, for a queue that somebody dropped has none.
-- Locks: the queue's table, for the moment of the look.
-- Promises: one look into the catalog for each; a queue without its archive is none, because nothing could leave it; written as
--   an expression, which starts no statement. A drop under way is waited for: the queue is gone then, or there again if it
--   was made anew in the same transaction.

create or replace function pgflow._queue_exists(queue_name text)
returns boolean
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_table constant text := 'pgmq.' || quote_ident(pgmq.format_table_name(queue_name, 'q'));
  v_archive constant text := 'pgmq.' || quote_ident(pgmq.format_table_name(queue_name, 'a'));
begin
  -- to_regclass alone still finds a table whose drop is not committed, and who went on to use it would wait for the drop and
  -- fail. pg_relation_is_updatable opens the table, which waits too, and is 0 when it is gone.
  return coalesce(
    (
      pg_relation_is_updatable(to_regclass(v_table), false) > 0
      or pg_relation_is_updatable(to_regclass(v_table), false) > 0
    )
    and to_regclass(v_archive) is not null,
    false
  );
end;
$$;
