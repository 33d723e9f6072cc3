-- Tasks that have stalled for good are listed; an operator gives them back to the workers or fails them.
\ir ../../support/engine.psql
begin;
select plan(19);

select pgflow.ensure_flow_compiled('own', '{"steps": [{"slug": "m", "stepType": "map"}, {"slug": "x"}]}', 'step') \g /dev/null
select run_id as run from pgflow.start_flow('own', '[0, 1, 2]') \gset
select t.claim('own', 'm'), t.claim('own', 'x') \g /dev/null
select is_empty('select * from pgflow.stalled_tasks()', 'nothing has stalled yet');
update pgflow.step_tasks set requeued_count = 3, queued_at = now() - interval '1 h', started_at = now() - interval '1 h' where task_index < 2;
select pgflow.requeue_stalled_tasks() \g /dev/null
select results_eq(
  $$ select flow_slug, step_slug, task_index, attempt, queue_name, last_worker_id, stalled_at is not null from pgflow.stalled_tasks() $$,
  $$ values ('own', 'm', 0, 1, 'own__m', t.worker(), true), ('own', 'm', 1, 1, 'own__m', t.worker(), true), ('own', 'x', 0, 1, 'own__x', t.worker(), true) $$,
  'three have stalled for good'
);
select is((select count(*) from pgflow.stalled_tasks('own')), 3::bigint, 'of this flow');
select is_empty($$ select * from pgflow.stalled_tasks('Own') $$, 'and none of another');

create function pg_temp.item(p_run uuid, p_step text, p_index int) returns jsonb language sql
as $$ select jsonb_build_object('run_id', p_run, 'step_slug', p_step, 'task_index', p_index) $$;
create function pg_temp.outcomes(p_items jsonb) returns text[] language sql as $$ select array_agg(outcome) from pgflow.requeue_tasks(p_items) $$;
select is(
  pg_temp.outcomes(jsonb_build_array(
    pg_temp.item(:'run', 'm', 0), pg_temp.item(:'run', 'm', 2), pg_temp.item(:'run', 'x', 0), pg_temp.item(:'run', 'm', 9), 1,
    pg_temp.item(:'run', 'm', 0)
  )),
  array['applied', 'already', 'applied', 'unknown', 'malformed', 'applied'], 'each gets its outcome, in the order asked'
);
select results_eq(
  $$ select step_slug, task_index, status, attempts_count, requeued_count, started_at is null, last_worker_id is null, permanently_stalled_at is null
       from pgflow.step_tasks where step_slug = 'x' or task_index = 0 order by 1, 2 $$,
  $$ values ('m', 0, 'queued', 1, 0, true, true, true), ('x', 0, 'queued', 1, 0, true, true, true) $$, 'they wait as new, with their attempts'
);
select is(
  (select message from pgmq.q_own__x), jsonb_build_object('flow_slug', 'own', 'run_id', :'run', 'step_slug', 'x', 'task_index', 0),
  'under a message like the first'
);
select is_empty('select t.broken()', 'all invariants hold');
select is(pg_temp.outcomes(jsonb_build_array(pg_temp.item(:'run', 'm', 0))), array['already'], 'asked again, it is done');
select results_eq($$ select step_slug, task_index from t.claim('own', 'm') $$, $$ values ('m', 0) $$, 'a worker gets it');
select is((select attempts_count from pgflow.step_tasks where step_slug = 'm' and task_index = 0), 2, 'as its next attempt');

-- Three more times before it stalls for good again.
update pgflow.step_tasks set started_at = now() - interval '30 min' where step_slug = 'm' and task_index = 0;
select is(pgflow.requeue_stalled_tasks(), 1, 'recovery serves it as any other');
select is_empty('select t.broken()', 'all invariants hold');

-- Failing one: the ordinary call, fenced by the attempt that was listed.
select is(
  (select array_agg(outcome) from pgflow.fail_tasks((
    select jsonb_agg(jsonb_build_object('run_id', run_id, 'step_slug', step_slug, 'task_index', task_index, 'attempt', attempt, 'error', 'given up'))
      from pgflow.stalled_tasks()))),
  array['applied'], 'a stalled task can be failed'
);
select is((select status from pgflow.runs), 'failed', 'which ends its run by its policy');
select is_empty('select * from pgflow.stalled_tasks()', 'nothing is stalled any more');
select is_empty('select t.broken()', 'all invariants hold');
select is(pg_temp.outcomes(jsonb_build_array(pg_temp.item(:'run', 'm', 1))), array['late'], 'a task of a finished run is not given back');
select is(t.refusal($$ select pgflow.requeue_tasks('{}') $$), '22023 pgflow_items_invalid', 'items that are no array are refused');

select * from finish();
rollback;
