-- delete_flow_and_data removes what exactly this flow owns.
\ir ../support.psql
begin;
select plan(13);
select pgflow.ensure_flow_compiled('stepped', shape('a', 'b:a'), 'step');
select pgflow.ensure_flow_compiled('plain', shape('a'), 'flow');
select pgmq.create('stepped');
insert into pgflow.runs (run_id, flow_slug, input) values
  ('00000000-0000-0000-0000-000000000001', 'stepped', '1'), ('00000000-0000-0000-0000-000000000002', 'plain', '1');
insert into pgflow.step_states (flow_slug, run_id, step_slug) select flow_slug, run_id, 'a' from pgflow.runs;
insert into pgflow.step_tasks (flow_slug, run_id, step_slug, queue_name) select flow_slug, run_id, 'a', 'x' from pgflow.runs;

select lives_ok($$ select pgflow.delete_flow_and_data('STEPPED') $$, 'another spelling is nobody');
select is(queues(), 'plain stepped stepped__a stepped__b', 'and loses nothing');
select lives_ok($$ select pgflow.delete_flow_and_data('stepped') $$, 'the exact spelling deletes');
select is(queues(), 'plain stepped', 'its queues, not the foreign one that has its name');
select is((select string_agg(flow_slug, ',') from pgflow.flows), 'plain', 'its definition');
select is((select string_agg(flow_slug, ',') from pgflow.runs), 'plain', 'its runs');
select is((select string_agg(flow_slug, ',') from pgflow.step_tasks), 'plain', 'its tasks');
select lives_ok($$ select pgflow.delete_flow_and_data('stepped') $$, 'once more is a no-op');

-- The listed spelling is what is dropped.
select pgmq.drop_queue('plain'), pgmq.create('PLAIN');
select lives_ok($$ select pgflow.delete_flow_and_data('plain') $$, 'a queue that is listed in another spelling');
select is(queues(), 'stepped', 'is dropped too');

select pgflow.create_flow('twice'), pgmq.create('Twice');
select is(error_of($$ select pgflow.delete_flow_and_data('twice') $$) - '{message,detail,hint}'::text[],
  '{"sqlstate": "42P09", "kind": "queue_ambiguous"}', 'two listed spellings are refused');
select is((select count(*)::int from pgflow.flows where flow_slug = 'twice'), 1, 'and nothing is gone');
select pgflow.ensure_flow_compiled('lost', shape('a'), 'step'), pgmq.drop_queue('lost__a');
select lives_ok($$ select pgflow.delete_flow_and_data('lost') $$, 'a queue that is not listed is no obstacle');

select * from finish();
rollback;
