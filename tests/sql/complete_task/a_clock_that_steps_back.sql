-- Whatever the server's clock does between two calls, nothing ends before it began, and nothing is refused for it. The clock
-- cannot be turned back here, so everything that is recorded is moved a minute into the future before each call.
\ir ../../support/engine.psql
begin;
select plan(9);

create function t.step_back() returns void language sql as $$
  update pgflow.step_tasks set queued_at = queued_at + '1 minute', started_at = started_at + '1 minute', completed_at = completed_at + '1 minute', failed_at = failed_at + '1 minute';
  update pgflow.step_states set created_at = created_at + '1 minute', started_at = started_at + '1 minute', completed_at = completed_at + '1 minute', failed_at = failed_at + '1 minute', skipped_at = skipped_at + '1 minute';
  update pgflow.runs set started_at = started_at + '1 minute', completed_at = completed_at + '1 minute', failed_at = failed_at + '1 minute';
$$;

select pgflow.ensure_flow_compiled('clock', '{"steps": [
  {"slug": "a", "dependencies": []},
  {"slug": "b", "dependencies": ["a"], "whenExhausted": "skip", "options": {"maxAttempts": 1}},
  {"slug": "c", "dependencies": ["a"], "requiredInputPattern": {"defined": true, "value": {"a": {"x": 1}}}},
  {"slug": "d", "dependencies": ["a"], "stepType": "map"},
  {"slug": "e", "dependencies": ["d"]}]}', 'step') \g /dev/null

select run_id as run from pgflow.start_flow('clock', '{}') \gset
select t.step_back() \g /dev/null
select lives_ok($$ select t.claim('clock', 'a') $$, 'a claim');
select t.step_back() \g /dev/null
select lives_ok(format($$ select pgflow.complete_task(%L, 'a', 0, '[]') $$, :'run'), 'a completion, a skipped step and one without tasks');
select t.step_back() \g /dev/null
select t.claim('clock', 'b') \g /dev/null
select t.step_back() \g /dev/null
select lives_ok(format($$ select pgflow.fail_task(%L, 'b', 0, 'no') $$, :'run'), 'an exhausted task, its skipped step');
select t.step_back() \g /dev/null
select t.claim('clock', 'e') \g /dev/null
select t.step_back() \g /dev/null
select lives_ok(format($$ select pgflow.complete_task(%L, 'e', 0, '1') $$, :'run'), 'the end of the run');
select is((select status from pgflow.runs where run_id = :'run'), 'completed', 'which is completed');
select is(
  t.steps(:'run'), '{"a": "completed", "b": "skipped", "c": "skipped", "d": "completed", "e": "completed"}', 'each step has its end'
);

select run_id as failing from pgflow.start_flow('clock', '{}') \gset
select t.step_back() \g /dev/null
select t.claim('clock', 'a') \g /dev/null
select t.step_back() \g /dev/null
select lives_ok(format($$ select pgflow.complete_task(%L, 'a', 0, '"no array"') $$, :'failing'), 'a type violation, the failure of its run');
select is((select status from pgflow.runs where run_id = :'failing'), 'failed', 'which is failed');

select run_id as cancelled from pgflow.start_flow('clock', '{}') \gset
select t.step_back() \g /dev/null
select lives_ok(format($$ select pgflow.cancel_run(%L, 'over') $$, :'cancelled'), 'a cancellation');

select * from finish();
rollback;
