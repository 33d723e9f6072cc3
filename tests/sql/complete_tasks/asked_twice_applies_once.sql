-- complete_tasks settles a batch in one transaction, tells what became of each task, and is safe to ask again.
\ir ../../support/engine.psql
begin;
select plan(28);

select pgflow.ensure_flow_compiled('own', '{"steps": [
  {"slug": "a", "dependencies": []}, {"slug": "b", "dependencies": ["a"]}]}', 'step') \g /dev/null
create function t.items(p_step text, p_output jsonb, p_attempt int default 1) returns jsonb language sql as $$
  select jsonb_agg(jsonb_strip_nulls(jsonb_build_object(
      'run_id', run_id, 'step_slug', step_slug, 'task_index', task_index, 'attempt', p_attempt
    )) || jsonb_build_object('output', p_output) order by run_id)
    from pgflow.step_tasks where step_slug = p_step
$$;
create function t.complete(p_items jsonb, p_worker int default null) returns text[] language sql
as $$ select array_agg(outcome) from pgflow.complete_tasks(p_items, case when p_worker is not null then t.worker(p_worker) end) $$;

select is_empty($$ select pgflow.complete_tasks('[]') $$, 'no items are no rows');

-- Three runs in one call.
select pgflow.start_flow('own', '{}') from generate_series(1, 3) \g /dev/null
select t.claim('own', 'a') \g /dev/null
select t.items('a', '{"done": true}') as items \gset
select results_eq(
  format($$ select step_slug, task_index, outcome from pgflow.complete_tasks(%L, t.worker()) $$, :'items'),
  $$ values ('a', 0, 'applied'), ('a', 0, 'applied'), ('a', 0, 'applied') $$, 'each item gets its row'
);
select is((select count(*) from pgflow.step_states where step_slug = 'b' and status = 'started'), 3::bigint, 'each run goes on');
select is((select count(*) from pgmq.q_own__b), 3::bigint, 'with one message each');
select is_empty('select t.broken()', 'all invariants hold');
select count(*) as told from pgflow.event_log \gset

-- The answer was lost and the worker asks again.
select is(t.complete(:'items', 1), array['already', 'already', 'already'], 'asked again, each was settled already');
select is((select count(*) from pgflow.event_log), :told::bigint, 'nothing is told twice');
select is((select count(*) from pgmq.q_own__b), 3::bigint, 'nothing is sent twice');
select is(t.complete(:'items'), array['already', 'already', 'already'], 'without a fence as well');
select is(t.complete(:'items', 2), array['superseded', 'superseded', 'superseded'], 'another worker settled none of them');
select is(t.complete(t.items('a', '1', 2), 1), array['superseded', 'superseded', 'superseded'], 'nor did another attempt');

-- A zombie: requeued and claimed by another worker.
select t.claim('own', 'b', 1) \g /dev/null
update pgflow.step_tasks set queued_at = now() - interval '1 h', started_at = now() - interval '1 h' where step_slug = 'b';
select pgflow.requeue_stalled_tasks() \g /dev/null
select is(t.complete(t.items('b', '1'), 1), array['superseded', 'superseded', 'superseded'], 'a zombie cannot complete a queued task');
select t.claim('own', 'b', 2) \g /dev/null
select is(t.complete(t.items('b', '1'), 1), array['superseded', 'superseded', 'superseded'], 'nor the new attempt');
select is((select array_agg(distinct status) from pgflow.step_tasks where step_slug = 'b'), array['started'], 'which goes on');
select is_empty('select t.broken()', 'all invariants hold');
select is(t.complete(t.items('b', '2', 2), 2), array['applied', 'applied', 'applied'], 'the holder completes it');
select is((select array_agg(distinct output) from pgflow.runs), array['{"b": 2}'::jsonb], 'with the holder''s output');
select is(t.complete(t.items('b', '2', 2), 2), array['already', 'already', 'already'], 'and again after the run is completed');
select is_empty('select t.broken()', 'all invariants hold');

-- Bad company: unknown, late, JSON null and no output in one call.
select pgflow.create_flow('mixed', max_attempts => 1) \g /dev/null
select pgflow.add_step('mixed', 'x') \g /dev/null
select pgflow.add_step('mixed', 'y') \g /dev/null
select run_id as failed from pgflow.start_flow('mixed', '{}') \gset
select run_id as good from pgflow.start_flow('mixed', '{}') \gset
select t.claim('mixed') \g /dev/null
select pgflow.fail_task(:'failed', 'x', 0, 'no') \g /dev/null
select is(
  t.complete(jsonb_build_array(
    jsonb_build_object('run_id', :'failed', 'step_slug', 'y', 'task_index', 0, 'output', 1),
    jsonb_build_object('run_id', gen_random_uuid(), 'step_slug', 'y', 'task_index', 0, 'output', 1),
    jsonb_build_object('run_id', :'good', 'step_slug', 'y', 'task_index', 7, 'output', 1),
    jsonb_build_object('run_id', :'good', 'step_slug', 'x', 'task_index', 0),
    jsonb_build_object('run_id', :'good', 'step_slug', 'y', 'task_index', 0, 'output', null)
  ), 1),
  array['late', 'unknown', 'unknown', 'applied', 'applied'], 'each gets its own outcome, in the order asked'
);
select results_eq(
  format($$ select step_slug, output from pgflow.step_tasks where run_id = %L order by 1 $$, :'good'),
  $$ values ('x', null::jsonb), ('y', 'null') $$, 'no output is SQL NULL, null is JSON null'
);
select is((select output from pgflow.runs where run_id = :'good'), '{"x": null, "y": null}', 'both leaves are there');
select is_empty('select t.broken()', 'all invariants hold');

-- A whole map and a type violation.
select pgflow.create_flow('typed') \g /dev/null
select pgflow.add_step('typed', 'src') \g /dev/null
select pgflow.add_step('typed', 'm', array['src'], step_type => 'map') \g /dev/null
select run_id as bad from pgflow.start_flow('typed', '{}') \gset
select run_id as good from pgflow.start_flow('typed', '{}') \gset
select t.claim('typed') \g /dev/null
select is(
  t.complete(jsonb_build_array(
    jsonb_build_object('run_id', :'bad', 'step_slug', 'src', 'task_index', 0, 'output', 'text'),
    jsonb_build_object('run_id', :'good', 'step_slug', 'src', 'task_index', 0, 'output', array[1, 2, 3])
  ), 1),
  array['applied', 'applied'], 'a type violation settles its task'
);
select is(
  (select array_agg(status order by run_id = :'good') from pgflow.runs where run_id in (:'bad', :'good')), array['failed', 'started'],
  'and fails only its own run'
);
select t.claim('typed') \g /dev/null
select is(
  t.complete((select jsonb_agg(jsonb_build_object('run_id', :'good', 'step_slug', 'm', 'task_index', n, 'output', n)) from generate_series(0, 2) n), 1),
  array['applied', 'applied', 'applied'], 'a whole map in one call'
);
select is((select output from pgflow.runs where run_id = :'good'), '{"m": [0, 1, 2]}', 'completes it');
select is_empty('select t.broken()', 'all invariants hold');

select * from finish();
rollback;
