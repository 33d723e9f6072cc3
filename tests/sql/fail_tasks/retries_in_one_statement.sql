-- fail_tasks records many failed attempts at once; a permanent failure is not retried; asked twice it counts once.
\ir ../../support/engine.psql
begin;
select plan(15);

select pgflow.ensure_flow_compiled('own', '{"options": {"maxAttempts": 3, "baseDelay": 5}, "steps": [
  {"slug": "a", "dependencies": [], "stepType": "map", "whenExhausted": "skip"}, {"slug": "b", "dependencies": ["a"]}]}', 'step') \g /dev/null
create function t.fail(p_items jsonb, p_worker int default 1) returns text[] language sql
as $$ select array_agg(outcome) from pgflow.fail_tasks(p_items, t.worker(p_worker)) $$;
create function t.items(p_run uuid, p_from int, p_to int, p_more jsonb default '{}') returns jsonb language sql as $$
  select jsonb_agg(jsonb_build_object('run_id', p_run, 'step_slug', 'a', 'task_index', n, 'attempt', 1, 'error', 'e' || n) || p_more)
    from generate_series(p_from, p_to) n
$$;

select run_id as run from pgflow.start_flow('own', '[0, 1, 2, 3]') \gset
select t.claim('own', 'a') \g /dev/null
select is(t.fail(t.items(:'run', 0, 2)), array['applied', 'applied', 'applied'], 'three attempts failed');
select results_eq(
  format($$ select status, attempts_count, error_message from pgflow.step_tasks where run_id = %L order by task_index $$, :'run'),
  $$ values ('queued', 1, 'e0'), ('queued', 1, 'e1'), ('queued', 1, 'e2'), ('started', 1, null) $$, 'and are queued again'
);
select is(
  (select count(*) from pgmq.q_own__a where vt between clock_timestamp() + interval '9 s' and clock_timestamp() + interval '10 s'),
  3::bigint, 'each delayed'
);
select is_empty('select t.broken()', 'all invariants hold');
select is(t.fail(t.items(:'run', 0, 2)), array['already', 'already', 'already'], 'asked again they were settled already');
select is(t.fail(t.items(:'run', 3, 3), 2), array['superseded'], 'another worker''s failure is not counted');
select is(
  (select array_agg(outcome) from pgflow.complete_tasks(t.items(:'run', 0, 0), t.worker())), array['already'],
  'a completion of a failed attempt is too late'
);

-- Claimed again by another worker, the first one comes back.
select pgmq.set_vt('own__a', 1, 0) \g /dev/null
select t.claim('own', 'a', 2) \g /dev/null
select is(t.fail(t.items(:'run', 0, 0)), array['superseded'], 'a zombie cannot fail the new attempt');

-- Permanent: the step's policy at once.
select is(t.fail(t.items(:'run', 3, 3, '{"permanent": true}')), array['applied'], 'a permanent failure');
select results_eq(
  format($$ select status, count(*) from pgflow.step_tasks where run_id = %L and step_slug = 'a' group by 1 order by 1 $$, :'run'),
  $$ values ('failed', 1::bigint), ('skipped', 3) $$, 'ends its task and, by policy, its step'
);
select is(t.steps(:'run'), '{"a": "skipped", "b": "started"}', 'the run goes on');
select is(t.fail(t.items(:'run', 3, 3, '{"permanent": true}')), array['already'], 'asked again it was settled already');
select is(t.fail(t.items(:'run', 0, 0, '{"attempt": 2}'), 2), array['late'], 'a skipped task''s failure is late');
select is_empty('select t.broken()', 'all invariants hold');

-- Two exhausted tasks of one run: the first fails it, the second is cancelled.
select pgflow.create_flow('strict', max_attempts => 1) \g /dev/null
select pgflow.add_step('strict', 'a', step_type => 'map') \g /dev/null
select run_id as run from pgflow.start_flow('strict', '[1, 2]') \gset
select t.claim('strict') \g /dev/null
select is(t.fail(t.items(:'run', 0, 1)), array['applied', 'late'], 'the second failure of a failed run is late');

select * from finish();
rollback;
