-- A claim of a map's tasks opens the array once, whether it takes 1, 10 or 50 of its 5,000 elements of 1 KB.
\ir ../../support/engine.psql
begin;
select plan(5);
select pgflow.configure_events('{}') \g /dev/null

select pgflow.create_flow('big') \g /dev/null
select pgflow.add_step('big', 'list') \g /dev/null
select pgflow.add_step('big', 'each', array['list'], step_type => 'map') \g /dev/null
select run_id as run from pgflow.start_flow('big', '{}') \gset
select t.claim('big') \g /dev/null
select pgflow.complete_task(:'run', 'list', 0, (
  select jsonb_agg(jsonb_build_object('n', n, 'text', text) order by n)
    from (select n, string_agg(md5(n || '-' || k), '') as text from generate_series(0, 4999) n, generate_series(1, 31) k group by n) element
)) \g /dev/null

create function t.pages(p_first int, p_many int) returns bigint language plpgsql as $$
declare
  v_plan json;
begin
  execute format(
    'explain (analyze, buffers, format json) select * from pgflow.start_tasks(''big'', array(select generate_series(%s, %s)::bigint), t.worker(), ''big'')',
    p_first, p_first + p_many - 1
  ) into v_plan;
  return (v_plan -> 0 -> 'Plan' ->> 'Shared Hit Blocks')::bigint + (v_plan -> 0 -> 'Plan' ->> 'Shared Read Blocks')::bigint;
end $$;
select t.pages(100, 1), t.pages(110, 10) \g /dev/null
select t.pages(200, 1) as one, t.pages(210, 10) as ten, t.pages(250, 50) as fifty \gset
select cmp_ok(:ten - :one, '<', 9 * 50, 'nine tasks more read their own rows more');
select cmp_ok(:fifty - :one, '<', 49 * 50, 'and so do 49');

create temp table claimed as select * from pgflow.start_tasks('big', array(select generate_series(1000, 1049)::bigint), t.worker(), 'big');
select is((select count(*) from claimed), 50::bigint, 'all of them come');
select is((select bool_and((input ->> 'n')::int = task_index and length(input ->> 'text') = 992) from claimed), true, 'each with its own element');
-- 43 s for ten, when the array was opened for every task.
set local statement_timeout = '2s';
select is(
  (select count(*) from pgflow.start_tasks('big', array(select generate_series(2000, 2499)::bigint), t.worker(), 'big')), 500::bigint,
  'and 500 take no time to speak of'
);

select * from finish();
rollback;
