-- A claim takes queued tasks of its selector, costs one attempt and hides the message for timeout + 2 seconds.
\ir ../../support/engine.psql
begin;
select plan(23);

select pgflow.create_flow('one', timeout => 10) \g /dev/null
select pgflow.add_step('one', 'a') \g /dev/null
select pgflow.add_step('one', 'slow', timeout => 100) \g /dev/null
select run_id as run from pgflow.start_flow('one', '{"x": 1}') \gset
select message_id as a from pgflow.step_tasks where run_id = :'run' and step_slug = 'a' \gset
select message_id as slow from pgflow.step_tasks where run_id = :'run' and step_slug = 'slow' \gset

select results_eq(
  format($$ select * from pgflow.start_tasks('one', array[%s, %s, %s]::bigint[], t.worker(), 'one') $$, :slow, :a, :a),
  format($$ values ('one', %1$L::uuid, 'a', '{}'::jsonb, %2$s::bigint, 0, '{"x": 1}'::jsonb),
    ('one', %1$L, 'slow', '{}', %3$s, 0, '{"x": 1}') $$, :'run', :a, :slow),
  'rows come by message id, a message asked for twice once'
);
select results_eq(
  format($$ select status, attempts_count, last_worker_id, started_at is not null from pgflow.step_tasks where run_id = %L $$, :'run'),
  $$ values ('started', 1, t.worker(), true), ('started', 1, t.worker(), true) $$, 'each costs one attempt'
);
select ok((select vt between clock_timestamp() + interval '11 s' and clock_timestamp() + interval '12 s' from pgmq.q_one where msg_id = :a),
  'the message is hidden for the flow''s timeout + 2 s');
select ok((select vt between clock_timestamp() + interval '101 s' and clock_timestamp() + interval '102 s' from pgmq.q_one where msg_id = :slow),
  'or the step''s');
select vt from pgmq.q_one where msg_id = :a \gset
-- A9: the same ids once more.
select is_empty(
  format($$ select * from pgflow.start_tasks('one', array[%s, %s]::bigint[], t.worker(2), 'one') $$, :a, :slow),
  'claimed again, nobody gets anything'
);
select results_eq(
  format($$ select attempts_count, last_worker_id from pgflow.step_tasks where run_id = %L $$, :'run'),
  $$ values (1, t.worker()), (1, t.worker()) $$, 'attempts and worker are as before'
);
select is((select vt from pgmq.q_one where msg_id = :a), :'vt', 'and so is the visibility');
select is_empty('select t.broken()', 'all invariants hold');

-- A10: own, other step's, unknown, started and final ids together.
select pgflow.ensure_flow_compiled('mix', '{"steps": [{"slug": "a", "stepType": "map", "dependencies": []},
  {"slug": "b", "stepType": "map", "dependencies": []}]}', 'step') \g /dev/null
select run_id as run from pgflow.start_flow('mix', '[0, 1, 2, 3]') \gset
select pgflow.start_tasks('mix', array[1, 2], t.worker(2), 'mix__a', 'a') \g /dev/null
select pgflow.complete_task(:'run', 'a', 0, '0') \g /dev/null
select pgmq.send('mix__a', '{"not": "ours"}') as foreign_id \gset
-- Another step's task whose message lies, against all rules, on this queue.
update pgflow.step_tasks set queue_name = 'mix__a', message_id = 77 where run_id = :'run' and step_slug = 'b' and task_index = 3;
create temp table before as select * from pgflow.step_tasks;
create temp table messages_before as select msg_id, vt, read_ct from pgmq.q_mix__a;
select results_eq(
  format($$ select msg_id, input from pgflow.start_tasks('mix', array[1, 2, 3, %s, 77, 999]::bigint[], t.worker(), 'mix__a', 'a') $$, :foreign_id),
  $$ values (3::bigint, '2'::jsonb) $$, 'only the own queued one is claimed'
);
select is_empty(
  $$ select * from pgflow.step_tasks where (step_slug, task_index) <> ('a', 2)
     except select * from before $$, 'all other tasks are untouched'
);
select is_empty(
  $$ select msg_id, vt, read_ct from pgmq.q_mix__a where msg_id <> 3 except select * from messages_before $$,
  'and so are all other messages'
);

-- A12: the message's visibility does not matter, its absence does.
select run_id as run from pgflow.start_flow('one', '{}') \gset
select message_id as a from pgflow.step_tasks where run_id = :'run' and step_slug = 'a' \gset
select message_id as slow from pgflow.step_tasks where run_id = :'run' and step_slug = 'slow' \gset
select pgmq.set_vt('one', :a, 600) \g /dev/null
delete from pgmq.q_one where msg_id = :slow;
select is(
  t.refusal(format($$ select pgflow.start_tasks('one', array[%s, %s]::bigint[], t.worker(), 'one') $$, :a, :slow)),
  'P0001 pgflow_claim_visibility', 'a message that is gone refuses the claim'
);
select throws_ok(
  format($$ select pgflow.start_tasks('one', array[%s, %s]::bigint[], t.worker(), 'one') $$, :a, :slow),
  'start_tasks(): visibility updated 1 of 2 claimed messages', 'and says how many are there'
);
select results_eq(
  format($$ select status, attempts_count from pgflow.step_tasks where run_id = %L $$, :'run'),
  $$ values ('queued', 0), ('queued', 0) $$, 'the whole call is undone and costs no attempt'
);
select results_eq(
  format($$ select step_slug from pgflow.start_tasks('one', array[%s]::bigint[], t.worker(), 'one') $$, :a),
  $$ values ('a') $$, 'a hidden message can be claimed'
);

-- Nothing of a finished run or step.
select run_id as run from pgflow.start_flow('one', '{}') \gset
select message_id as a from pgflow.step_tasks where run_id = :'run' and step_slug = 'a' \gset
select pgflow.cancel_run(:'run') \g /dev/null
select is_empty(format($$ select pgflow.start_tasks('one', array[%s]::bigint[], t.worker(), 'one') $$, :a), 'not of a finished run');
select run_id as run from pgflow.start_flow('one', '{}') \gset
select message_id as a from pgflow.step_tasks where run_id = :'run' and step_slug = 'a' \gset
select pgflow._force_skip_steps(array[:'run']::uuid[], array['a'], 'condition_unmet') \g /dev/null
select is_empty(format($$ select pgflow.start_tasks('one', array[%s]::bigint[], t.worker(), 'one') $$, :a), 'not of a finished step');

-- Inputs of one claim over several runs and steps.
select pgflow.create_flow('inputs') \g /dev/null
select pgflow.add_step('inputs', 'list') \g /dev/null
select pgflow.add_step('inputs', 'gone', required_input_pattern => '{"z": 1}') \g /dev/null
select pgflow.add_step('inputs', 'each', array['list'], step_type => 'map') \g /dev/null
select pgflow.add_step('inputs', 'both', array['list', 'gone']) \g /dev/null
select run_id as one from pgflow.start_flow('inputs', '{"n": 1}') \gset
select run_id as two from pgflow.start_flow('inputs', '{"n": 2}') \gset
select t.claim('inputs') \g /dev/null
select pgflow.complete_task(:'one', 'list', 0, '["a", {"b": null}]') \g /dev/null
select pgflow.complete_task(:'two', 'list', 0, '[[]]') \g /dev/null
create temp table claimed as select * from t.claim('inputs');
select is((select count(*) from claimed), 5::bigint, 'five tasks of two runs in one claim');
select results_eq(
  format($$ select step_slug, task_index, input, flow_input from claimed where run_id = %L order by step_slug, task_index $$, :'one'),
  $$ values ('both', 0, '{"list": ["a", {"b": null}]}'::jsonb, null::jsonb), ('each', 0, '"a"', null), ('each', 1, '{"b": null}', null) $$,
  'each gets what belongs to its run'
);
select results_eq(
  format($$ select step_slug, task_index, input from claimed where run_id = %L order by step_slug, task_index $$, :'two'),
  $$ values ('both', 0, '{"list": [[]]}'::jsonb), ('each', 0, '[]') $$, 'and none of the other''s'
);
select is_empty($$ select * from t.claim('inputs') $$, 'then there is nothing left');

select pgflow.create_flow('many') \g /dev/null
select pgflow.add_step('many', 'm', step_type => 'map') \g /dev/null
select run_id as run from pgflow.start_flow('many', (select jsonb_agg(n) from generate_series(1, 300) n)) \gset
select pgflow.start_tasks('many', array(select generate_series(1, 100)::bigint), t.worker(), 'many') \g /dev/null
select is(
  (select count(*) from pgflow.start_tasks('many', array(select generate_series(50, 150)::bigint), t.worker(), 'many')),
  50::bigint, 'an overlapping claim gets the rest'
);
select is_empty($$ select * from t.broken() where broken like '%m[%' $$, 'and nothing is claimed twice');

select * from finish();
rollback;
