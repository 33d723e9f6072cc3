-- Every vector of tests/vectors/naming-vectors.json holds, texts included.
\ir ../support.psql
\set vectors `cat ../../vectors/naming-vectors.json`
begin;
create temp table vector as
  select element ->> 'id' as id, element ->> 'flow_slug' as flow_slug, coalesce(element ->> 'mode', 'step') as mode,
      element -> 'steps' as steps, element -> 'expect' as expect
    from jsonb_array_elements(:'vectors') element;
select plan(2 * count(*)::int + 1) from vector;

select is(count(*)::int, 73, 'there are 73 vectors') from vector;

create temp view call as
  select vector.*, format(
    'select pgflow._derive_queue_routes(%L, %L, %L)', flow_slug,
    jsonb_build_object('steps', (select coalesce(jsonb_agg(jsonb_build_object('slug', step)), '[]')
      from jsonb_array_elements(steps) step)),
    mode
  ) as sql
  from vector;

select is(error_of(sql) ->> 'kind', expect #>> '{error,kind}', id || ': kind') from call;

create function pg_temp.routes(p_sql text) returns jsonb language plpgsql as $$
declare v_routes jsonb;
begin
  execute p_sql into v_routes;
  return (select coalesce(jsonb_agg(route -> 'queueName'), '[]') from jsonb_array_elements(v_routes) route);
end;
$$;
select is(pg_temp.routes(sql), expect -> 'routes', id || ': routes') from call where expect ? 'routes';
-- A vector may fix the texts too; then they are equal, else this compares nothing with nothing.
select is(
  (select jsonb_object_agg(key, error_of(sql) -> key) from jsonb_object_keys(expect -> 'error') key),
  expect -> 'error', id || ': texts'
) from call where expect ? 'error';

select * from finish();
rollback;
