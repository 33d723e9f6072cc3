-- Functions that must see what others have committed refuse a transaction whose snapshot is older than their lock.
\ir ../support.psql
select pgflow.ensure_flow_compiled('old', shape('a')) \g /dev/null
create function tap.fresh() returns setof text language sql as $$
  select tap.kind_is(statement, 'isolation_level', statement) from unnest(array[
    'select pgflow.create_flow(''new'')',
    'select pgflow.add_step(''old'', ''b'')',
    'select pgflow.ensure_flow_compiled(''old'', tap.shape(''a''))',
    'select pgflow.verify_flow_compiled(''old'', tap.shape(''a''))',
    'select pgflow.delete_flow_and_data(''old'')',
    'select pgflow.start_tasks(''old'', ''{1}'', gen_random_uuid(), ''old'')',
    'select pgflow.read_and_claim(''old'', ''old'', null, gen_random_uuid(), 1)',
    'select pgflow.release_tasks(gen_random_uuid())',
    'select pgflow.release_worker(gen_random_uuid(), ''dead'')',
    'select pgflow.requeue_tasks(''[]'')',
    'select pgflow.restore_queues(''old'')',
    'select pgflow.fence_functions(gen_random_uuid(), ''x'', ''{f}'', ''ann'', ''test'')',
    'select pgflow.unfence_functions(gen_random_uuid(), ''x'')'
  ]) statement
$$;
create function tap.no_snapshot_needed() returns setof text language sql as $$
  select tap.lives_ok($l$ select pgflow.start_flow('old', '{}') $l$, 'start_flow may be part of any transaction')
$$;
select plan(30);
begin isolation level repeatable read;
select fresh();
select no_snapshot_needed();
commit;
begin isolation level serializable;
select fresh();
select no_snapshot_needed();
commit;
begin isolation level read uncommitted;
select lives_ok($$ select pgflow.create_flow('new') $$, 'READ UNCOMMITTED is READ COMMITTED in PostgreSQL');
commit;
select is((select string_agg(flow_slug, ' ' order by flow_slug) from pgflow.flows), 'new old', 'nothing else was done');
select * from finish();
