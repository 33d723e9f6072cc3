-- An item that is no item is answered `malformed`; the rest of its batch is settled as if it were not there.
\ir ../../support/engine.psql
begin;
select plan(17);

select pgflow.create_flow('plain') \g /dev/null
select pgflow.add_step('plain', 'a') \g /dev/null
select pgflow.add_step('plain', 'b') \g /dev/null
select run_id as run from pgflow.start_flow('plain', '{}') \gset
select t.claim('plain') \g /dev/null
create temp table items (n int generated always as identity, item jsonb, what text);
insert into items (item, what) values
  (jsonb_build_object('run_id', :'run', 'step_slug', 'a', 'task_index', 0, 'output', 1, 'error', 'e'), 'sound'),
  ('1', 'no object'), ('null', 'null'), ('[]', 'an array'), ('{}', 'empty'),
  ('{"run_id": "x", "step_slug": "a", "task_index": 0}', 'no uuid'),
  ('{"run_id": 5, "step_slug": "a", "task_index": 0}', 'a number for a run'),
  (jsonb_build_object('run_id', :'run', 'step_slug', jsonb_build_array('b'), 'task_index', 0), 'an array for a step'),
  (jsonb_build_object('run_id', :'run', 'step_slug', 'b', 'task_index', '0'), 'a text for an index'),
  (jsonb_build_object('run_id', :'run', 'step_slug', 'b', 'task_index', true), 'a boolean for an index'),
  (jsonb_build_object('run_id', :'run', 'step_slug', 'b', 'task_index', 0, 'attempt', '1'), 'a text for an attempt'),
  (jsonb_build_object('run_id', :'run', 'step_slug', 'b', 'task_index', 0, 'permanent', 'true'), 'a text for a boolean'),
  (jsonb_build_object('run_id', :'run', 'step_slug', 'b', 'task_index', 0, 'permanent', 1), 'a number for a boolean'),
  (jsonb_build_object('run_id', :'run', 'step_slug', 'b', 'task_index', 0, 'error', jsonb_build_object('message', 'e')), 'an object for an error'),
  (jsonb_build_object('run_id', :'run', 'task_index', 0), 'no step'),
  (jsonb_build_object('run_id', :'run', 'step_slug', 'b'), 'no index'),
  (jsonb_build_object('run_id', :'run', 'step_slug', 'b', 'task_index', 'x'), 'an index that is no number'),
  (jsonb_build_object('run_id', :'run', 'step_slug', 'b', 'task_index', 0.5), 'half an index'),
  (jsonb_build_object('run_id', :'run', 'step_slug', 'b', 'task_index', 99999999999), 'an index beyond an int'),
  (jsonb_build_object('run_id', :'run', 'step_slug', 'b', 'task_index', 0, 'attempt', 'first'), 'an attempt that is no number'),
  (jsonb_build_object('run_id', :'run', 'step_slug', 'b', 'task_index', 0, 'permanent', 'perhaps'), 'a permanent that is no boolean'),
  (jsonb_build_object('run_id', upper(:'run'), 'step_slug', 'b', 'task_index', 0, 'attempt', null, 'permanent', null), 'sound, with nulls and capitals');
create function pg_temp.items() returns jsonb language sql as $$ select jsonb_agg(item order by n) from items $$;

savepoint before;
create temp table answer as
  select row_number() over () as n, c.* from pgflow.complete_tasks(pg_temp.items(), t.worker()) c;
select results_eq(
  $$ select what, outcome from items join answer using (n) order by n $$,
  $$ select what, case when what like 'sound%' then 'applied' else 'malformed' end from items order by n $$, 'each is answered in its place'
);
select is((select status from pgflow.runs), 'completed', 'and the sound ones count');
select is_empty('select t.broken()', 'all invariants hold');
select results_eq(
  $$ select run_id::text, step_slug, task_index from answer where n in (6, 11) order by n $$,
  $$ values (null, 'a', null::int), (null, 'b', null) $$, 'the step comes back'
);
rollback to before;

create temp table answer as
  select row_number() over () as n, c.* from pgflow.fail_tasks(pg_temp.items(), t.worker()) c;
select results_eq(
  $$ select what, outcome from items join answer using (n) order by n $$,
  $$ select what, case when what like 'sound%' then 'applied' else 'malformed' end from items order by n $$, 'failures likewise'
);
select results_eq(
  'select step_slug, status, error_message from pgflow.step_tasks order by 1', $$ values ('a', 'queued', 'e'), ('b', 'queued', null) $$,
  'and are recorded'
);
select is_empty('select t.broken()', 'all invariants hold');

select is(t.refusal($$ select pgflow.fail_tasks('"x"') $$), '22023 pgflow_items_invalid', 'items that are no array are refused');
select is_empty(format('select pgflow.%s(''[]'')', f), f || ': no items at all are none')
  from unnest(array['complete_tasks', 'fail_tasks', 'requeue_tasks']) f;
select is(t.refusal(format('select pgflow.%s(null)', f)), '22023 pgflow_items_invalid', f || ' refuses NULL')
  from unnest(array['complete_tasks', 'fail_tasks', 'requeue_tasks']) f;
select is(t.refusal(format('select pgflow.%s(''null'')', f)), '22023 pgflow_items_invalid', f || ' refuses JSON null')
  from unnest(array['complete_tasks', 'fail_tasks', 'requeue_tasks']) f;

select * from finish();
rollback;
