-- A claim names its flow, queue, step, messages and worker exactly, or it gets nothing and changes nothing.
\ir ../../support/engine.psql
begin;
select plan(23);

select pgflow.create_flow('Shared') \g /dev/null
select pgflow.add_step('Shared', 'a') \g /dev/null
select pgflow.ensure_flow_compiled('Own', '{"steps": [{"slug": "a", "dependencies": []}, {"slug": "b", "dependencies": []}]}', 'step') \g /dev/null
select run_id as shared from pgflow.start_flow('Shared', '{}') \gset
select run_id as own from pgflow.start_flow('Own', '{}') \gset

-- A11: every selector.
create function t.try(p_flow text, p_queue text, p_step text, p_ids bigint[] default '{1}') returns text language plpgsql as $$
begin
  return t.refusal(format('select 1 from pgflow.start_tasks(%L, %L, t.worker(), %L, %L)', p_flow, p_ids, p_queue, p_step));
end $$;
create function t.got(p_flow text, p_queue text, p_step text, p_ids bigint[] default '{1}') returns bigint language sql
as $$ select count(*) from pgflow.start_tasks(p_flow, p_ids, t.worker(), p_queue, p_step) $$;

select is(t.got('nope', 'nope', null), 0::bigint, 'an unknown flow is an empty set');
select is(t.got('nope', 'nope', 'a'), 0::bigint, 'with a step as well');
select is(t.got('own', 'own__a', 'a'), 0::bigint, 'and so is a wrong spelling of the flow');
select is(t.try('Own', 'own__a', null), 'P0001 pgflow_selector_required', 'step mode needs a step');
select is(t.try('Own', 'own__b', 'a'), 'P0001 pgflow_selector_route', 'on its own queue');
select is(t.try('Own', 'Own__a', 'a'), 'P0001 pgflow_selector_route', 'in the exact spelling of the queue');
select is(t.try('Own', 'own__a', 'A'), 'P0001 pgflow_selector_route', 'and of the step');
select is(t.try('Own', 'own__x', 'x'), 'P0001 pgflow_selector_route', 'an unknown step has no route');
select is(t.try('Own', null, 'a'), 'P0001 pgflow_selector_route', 'nor has no queue');
select is(t.try('Shared', 'shared', 'a'), 'P0001 pgflow_selector_forbidden', 'flow mode takes no step');
select is(t.got('Shared', 'Shared', null), 0::bigint, 'the default queue in another spelling is an empty set');
select is(t.got('Shared', 'own__a', null), 0::bigint, 'and so is another flow''s queue');
select throws_ok(
  $$ select pgflow.start_tasks('Own', '{1}', t.worker(), 'own__b', 'a') $$,
  'Step "a" of flow "Own" is not routed to queue "own__b".', 'the message names all three'
);
select is(t.got('Shared', 'shared', null, '{}'), 0::bigint, 'no message ids are an empty set');
select is(t.got('Shared', 'shared', null, null), 0::bigint, 'and so are NULL ones');
select is(
  t.try('Own', 'own__a', null, '{}'), 'P0001 pgflow_selector_required', 'a wrong selector raises without messages too'
);
select is_empty($$ select 1 from pgflow.step_tasks where status <> 'queued' or attempts_count > 0 $$, 'nothing has changed');
select is(
  t.refusal($$ select pgflow.start_tasks('Own', '{1}', gen_random_uuid(), 'own__a', 'a') $$),
  '23503 step_tasks_last_worker_id_fkey', 'an unknown worker is refused'
);
select is_empty(
  $$ select pgflow.start_tasks('Own', '{99}', gen_random_uuid(), 'own__a', 'a') $$, 'as far as it would get a task'
);
select is(t.got('Own', 'own__a', 'a'), 1::bigint, 'the exact selector claims');
select is(t.got('Shared', 'shared', null), 1::bigint, 'in both modes');
select lives_ok(
  $$ select * from pgflow.start_tasks('Shared', '{99}', t.worker(), 'shared') $$, 'four arguments call it as well'
);
select is_empty('select t.broken()', 'all invariants hold');

select * from finish();
rollback;
