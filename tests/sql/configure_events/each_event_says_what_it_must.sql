-- Every event of the specification with all its keys, and the order of those that one transaction sends.
\ir ../../support/engine.psql
begin;
select plan(25);

create function pg_temp.keys(p_run uuid, p_event text) returns text language sql
as $$ select string_agg(k, ' ' order by k) from pgflow.event_log, jsonb_object_keys(payload) k where run_id = p_run and event = p_event $$;
create function pg_temp.said(p_run uuid, p_event text, p_key text) returns jsonb language sql
as $$ select payload -> p_key from pgflow.event_log where run_id = p_run and event = p_event $$;

-- A run that completes, with a map that is empty.
select pgflow.create_flow('good', max_attempts => 1) \g /dev/null
select pgflow.add_step('good', 'list') \g /dev/null
select pgflow.add_step('good', 'each', array['list'], step_type => 'map') \g /dev/null
select pgflow.add_step('good', 'sum', array['each']) \g /dev/null
select run_id as run from pgflow.start_flow('good', '{"x": 1}') \gset
select t.claim('good') \g /dev/null
select pgflow.complete_task(:'run', 'list', 0, '[]') \g /dev/null
select t.claim('good') \g /dev/null
select pgflow.complete_task(:'run', 'sum', 0, '7') \g /dev/null
select is(
  t.events(:'run'),
  array['run:started', 'step:list:started', 'step:list:completed', 'step:each:completed', 'step:sum:started', 'step:sum:completed', 'run:completed'],
  'a parent before its children, steps before their run'
);
select is(pg_temp.keys(:'run', 'run:started'), 'event_type flow_slug input remaining_steps run_id started_at status', 'run:started');
select is(pg_temp.keys(:'run', 'step:list:started'), 'event_type flow_slug remaining_deps remaining_tasks run_id started_at status step_slug', 'step:started');
select is(pg_temp.keys(:'run', 'step:list:completed'), 'completed_at event_type flow_slug output run_id status step_slug', 'step:completed by a task');
select is(
  pg_temp.keys(:'run', 'step:each:completed'),
  'completed_at event_type flow_slug output remaining_deps remaining_tasks run_id started_at status step_slug', 'step:completed without tasks'
);
select is(
  (select payload - 'started_at' - 'completed_at' from pgflow.event_log where run_id = :'run' and event = 'step:each:completed'),
  jsonb_build_object('event_type', 'step:completed', 'run_id', :'run', 'flow_slug', 'good', 'step_slug', 'each', 'status', 'completed',
    'output', '[]'::jsonb, 'remaining_tasks', 0, 'remaining_deps', 0), 'with zeroes and an empty output'
);
select is(pg_temp.keys(:'run', 'run:completed'), 'completed_at event_type flow_slug output run_id status', 'run:completed');
select is(pg_temp.said(:'run', 'run:completed', 'output'), '{"sum": 7}', 'with its output');
select is((select array_agg(distinct status) from (select payload ->> 'status' = split_part(payload ->> 'event_type', ':', 2) as status from pgflow.event_log) x),
  array[true], 'the status is that of the event');

-- A run that fails.
select run_id as run from pgflow.start_flow('good', '{}') \gset
select t.claim('good') \g /dev/null
select pgflow.fail_task(:'run', 'list', 0, 'no') \g /dev/null
select is((t.events(:'run'))[3:], array['step:list:failed', 'run:failed'], 'the step fails before the run');
select is(pg_temp.keys(:'run', 'step:list:failed'), 'error_message event_type failed_at flow_slug run_id status step_slug', 'step:failed');
select is(pg_temp.keys(:'run', 'run:failed'), 'error_message event_type failed_at flow_slug run_id status', 'run:failed');
select is(pg_temp.said(:'run', 'run:failed', 'error_message'), '"no"', 'with the error');

-- A type violation: the other way round.
select run_id as run from pgflow.start_flow('good', '{}') \gset
select t.claim('good') \g /dev/null
select pgflow.complete_task(:'run', 'list', 0, '{}') \g /dev/null
select is((t.events(:'run'))[3:], array['run:failed', 'step:list:failed'], 'in a type violation the run fails before the step');
select matches(pg_temp.said(:'run', 'step:list:failed', 'error_message')::text, 'TYPE_VIOLATION', 'which says so');

-- Skips: by an exhausted task, by a condition, by a cascade.
select pgflow.create_flow('skips', max_attempts => 1) \g /dev/null
select pgflow.add_step('skips', 'tried', when_exhausted => 'skip-cascade') \g /dev/null
select pgflow.add_step('skips', 'after', array['tried']) \g /dev/null
select pgflow.add_step('skips', 'never', required_input_pattern => '{"go": true}') \g /dev/null
select run_id as run from pgflow.start_flow('skips', '{}') \gset
select t.claim('skips') \g /dev/null
select pgflow.fail_task(:'run', 'tried', 0, null) \g /dev/null
select is(
  t.events(:'run'),
  array['run:started', 'step:never:skipped', 'step:tried:started', 'step:tried:skipped', 'step:after:skipped', 'run:completed'],
  'skipped steps are told in order'
);
select is(pg_temp.keys(:'run', 'step:tried:skipped'), 'error_message event_type flow_slug run_id skip_reason skipped_at status step_slug',
  'step:skipped by a task has its error, even when it has none');
select is(pg_temp.keys(:'run', 'step:after:skipped'), 'event_type flow_slug run_id skip_reason skipped_at status step_slug', 'step:skipped by a cascade');
select is(pg_temp.keys(:'run', 'step:never:skipped'), 'event_type flow_slug run_id skip_reason skipped_at status step_slug', 'step:skipped by a condition');
select results_eq(
  format($$ select payload ->> 'skip_reason' from pgflow.event_log where run_id = %L and event like '%%skipped' order by id $$, :'run'),
  $$ values ('condition_unmet'), ('handler_failed'), ('dependency_skipped') $$, 'each with its reason'
);
select is(pg_temp.said(:'run', 'run:completed', 'output'), 'null', 'a run without completed leaves has no output');

-- A condition that fails its run.
select pgflow.create_flow('strict') \g /dev/null
select pgflow.add_step('strict', 's', required_input_pattern => '{"go": true}', when_unmet => 'fail') \g /dev/null
select run_id as run from pgflow.start_flow('strict', '{}') \gset
select is(t.events(:'run'), array['run:started', 'step:s:failed', 'run:failed'], 'an unmet condition: step, then run');
select is(pg_temp.said(:'run', 'run:failed', 'error_message'), '"Condition not met"', 'with its text');

-- What is no transition is not told.
select pgflow.create_flow('quiet') \g /dev/null
select pgflow.add_step('quiet', 'm', step_type => 'map') \g /dev/null
select run_id as run from pgflow.start_flow('quiet', '[1, 2]') \gset
select t.claim('quiet') \g /dev/null
select pgflow.fail_task(:'run', 'm', 0, 'retried') \g /dev/null
select pgflow.complete_task(:'run', 'm', 1, '1') \g /dev/null
select pgflow.complete_task(:'run', 'm', 1, '1') \g /dev/null
update pgmq.q_quiet set vt = clock_timestamp();
select t.claim('quiet') \g /dev/null
update pgflow.step_tasks set queued_at = now() - interval '1 h', started_at = now() - interval '1 h' where run_id = :'run' and status = 'started';
select pgflow.requeue_stalled_tasks() \g /dev/null
select is(t.events(:'run'), array['run:started', 'step:m:started'], 'claims, retries, recoveries and single tasks of a map are silent');
select is((select distinct topic from (select 'pgflow:run:' || run_id as topic from pgflow.event_log where run_id = :'run') x), 'pgflow:run:' || :'run', 'one topic a run');

select * from finish();
rollback;
