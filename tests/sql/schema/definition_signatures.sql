-- The definition API has exactly the signatures that callers use.
begin;
select plan(3);
select set_eq(
  $$ select p.oid::regprocedure::text || ' ' || pg_get_function_result(p.oid) from pg_proc p
      where p.pronamespace = 'pgflow'::regnamespace and p.proname in (
        'create_flow', 'add_step', 'ensure_flow_compiled', 'delete_flow_and_data', 'is_local', 'is_valid_slug',
        'is_valid_queue_name', '_get_flow_shape', '_compare_flow_shapes', '_resolve_step_queue_name',
        '_derive_queue_routes', '_create_flow_from_shape', '_assert_step_queue_available', '_listed_queue_name') $$,
  array[
    'pgflow.create_flow(text,integer,integer,integer) pgflow.flows',
    'pgflow.add_step(text,text,text[],integer,integer,integer,integer,text,jsonb,jsonb,text,text) pgflow.steps',
    'pgflow.ensure_flow_compiled(text,jsonb,text,jsonb) jsonb',
    'pgflow.delete_flow_and_data(text) void',
    'pgflow.is_local() boolean',
    'pgflow.is_valid_slug(text) boolean',
    'pgflow.is_valid_queue_name(text) boolean',
    'pgflow._get_flow_shape(text) jsonb',
    'pgflow._compare_flow_shapes(jsonb,jsonb) text[]',
    'pgflow._resolve_step_queue_name(text,text,integer) text',
    'pgflow._derive_queue_routes(text,jsonb,text) jsonb',
    'pgflow._create_flow_from_shape(text,jsonb,text) void',
    'pgflow._assert_step_queue_available(text,text) boolean',
    'pgflow._listed_queue_name(text) text'
  ], 'no more, no less'
);
select is(
  (select array_agg(proargnames::text order by proname) from pg_proc
    where pronamespace = 'pgflow'::regnamespace and proname in ('create_flow', 'add_step', 'ensure_flow_compiled')),
  array[
    '{flow_slug,step_slug,deps_slugs,max_attempts,base_delay,timeout,start_delay,step_type,required_input_pattern,'
    'forbidden_input_pattern,when_unmet,when_exhausted}',
    '{flow_slug,max_attempts,base_delay,timeout}',
    '{flow_slug,shape,queue_mode,route_map}'
  ], 'parameter names are API'
);
select is(pgflow.schema_version(), (select max(version) from pgflow.schema_migrations), 'schema_version is the newest migration');
select * from finish();
rollback;
