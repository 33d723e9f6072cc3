-- pgflow.calculate_retry_delay: seconds until the next attempt, floor(base_delay * 2^attempts_count).
-- Called by: _fail_tasks.    Locks: none.
-- Promises: a delay beyond the range of int is the end of that range, never an error; NULL for NULL.

create or replace function pgflow.calculate_retry_delay(base_delay numeric, attempts_count int)
returns int
language plpgsql
immutable strict
set search_path = pg_catalog, pg_temp
as $$
begin
  -- No delay that is a number and not zero is small enough to need a larger exponent, nor large enough for a smaller one.
  return greatest(
    -2147483648, least(2147483647, floor(base_delay * power(2::numeric, greatest(-128, least(attempts_count, 128)))))
  )::int;
end;
$$;
