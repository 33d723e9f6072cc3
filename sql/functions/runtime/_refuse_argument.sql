-- pgflow._refuse_argument: the one way to say that an argument cannot be used.
-- Called by: functions of ours that got NULL, or a number out of range, where they need a value. A NULL id or name that is
--   looked up is no such case: it names nothing and is answered as an unknown one.    Locks: none.
-- Refuses: argument_invalid (22023), always.

create or replace function pgflow._refuse_argument(p_function text, p_argument text, p_value text, p_rule text)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  raise exception using
    errcode = 'invalid_parameter_value',
    constraint = 'pgflow_argument_invalid',
    message = format('pgflow.%s(): %s must be %s.', p_function, p_argument, p_rule),
    detail = format('It is %s; nothing was changed.', coalesce(p_value, 'NULL')),
    hint = 'Correct the call; docs/sql-api.md tells what each argument means.';
end;
$$;
