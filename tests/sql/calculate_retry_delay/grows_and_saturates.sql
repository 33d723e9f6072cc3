-- The retry delay is floor(base * 2^attempts), saturates instead of overflowing, and is NULL for NULL.
begin;
select plan(16);

select is(pgflow.calculate_retry_delay(5, 1), 10, 'base 5 after the first attempt');
select is(pgflow.calculate_retry_delay(5, 3), 40, 'and after the third');
select is(pgflow.calculate_retry_delay(0, 10), 0, 'no base, no delay');
select is(pgflow.calculate_retry_delay(1.5, 1), 3, 'a broken base');
select is(pgflow.calculate_retry_delay(0.3, 1), 0, 'is rounded down');
select is(pgflow.calculate_retry_delay(1, 30), 1073741824, 'the last power that fits');
select is(pgflow.calculate_retry_delay(5, 29), 2147483647, 'beyond an int it saturates');
select is(pgflow.calculate_retry_delay(2147483647, 2147483647), 2147483647, 'whatever the arguments');
select is(pgflow.calculate_retry_delay(0.001, 40), 1099511627, 'a small base needs a large exponent');
select is(pgflow.calculate_retry_delay(1e131071, 128), 2147483647, 'a base beyond all measure');
select is(pgflow.calculate_retry_delay('Infinity', 1), 2147483647, 'an infinite base');
select is(pgflow.calculate_retry_delay('NaN', 1), 2147483647, 'no number');
select is(pgflow.calculate_retry_delay('-Infinity', 1), -2147483648, 'and at the other end');
select is(pgflow.calculate_retry_delay(-5, 100), -2147483648, 'of the range');
select is(pgflow.calculate_retry_delay(5, -2147483648), 0, 'a negative exponent');
select is(pgflow.calculate_retry_delay(5, null), null, 'NULL for NULL');

select * from finish();
rollback;
