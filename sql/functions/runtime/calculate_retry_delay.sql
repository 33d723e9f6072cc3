-- pgflow.calculate_retry_delay: seconds until the next attempt, floor(base_delay * 2^attempts_count).
-- Called by: _fail_tasks.    Locks: none.
-- Promises: a delay beyond the range of int is 2147483647, never an error.

create or replace function pgflow.calculate_retry_delay(base_delay numeric, attempts_count int)
returns int
language plpgsql
immutable
set search_path = ''
as $$
begin
  -- 2^31 alone is out of range already, so a larger exponent need not be computed.
  return least(2147483647, floor(base_delay * power(2::numeric, least(attempts_count, 31))))::int;
end;
$$;
