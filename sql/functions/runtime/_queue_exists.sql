-- pgflow._queue_exists: whether a queue has its two tables, in whatever spelling it is named.
-- Called by: what archives messages or shows them again, for a queue that somebody dropped has none.
-- Locks: the queue's table, for the moment of the look.
-- Promises: a look into the catalog, which starts no statement; a queue without its archive is none, because nothing could leave
--   it. A drop under way is waited for: the queue is gone then, or there again if it was made anew in the same transaction,
--   however often that happens meanwhile.

create or replace function pgflow._queue_exists(queue_name text)
returns boolean
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_table constant text := 'pgmq.' || quote_ident(pgmq.format_table_name(queue_name, 'q'));
  v_archive constant text := 'pgmq.' || quote_ident(pgmq.format_table_name(queue_name, 'a'));
  v_found regclass;
  v_gone regclass;
begin
  -- to_regclass alone still finds a table whose drop is not committed, and who went on to use it would wait for the drop and
  -- fail. pg_relation_is_updatable opens the table, which waits too, and is 0 when it is gone.
  loop
    v_found := to_regclass(v_table);
    if v_found is null or v_found = v_gone then
      return false;
    end if;
    if pg_relation_is_updatable(v_found, false) > 0 then
      return to_regclass(v_archive) is not null;
    end if;
    v_gone := v_found;
  end loop;
end;
$$;
