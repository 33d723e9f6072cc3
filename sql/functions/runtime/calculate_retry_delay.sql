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
  -- No delay that is a number and not zero is small enough to need a larger exponent, nor large enough for a smaller one;
  -- nor is one of 1e50 brought back into the range by any of them.
  return greatest(
    -2147483648,
    least(
      2147483647,
      floor(
        greatest(-1e50, least(base_delay, 1e50)) * power(2::numeric, greatest(-128, least(attempts_count, 128)))
      )
    )
  )::int;
end;
$$;
