-- check_integrity finds each invariant that somebody broke past the functions, and nothing in a database that only they wrote.
\ir ../../support/engine.psql
begin;
select plan(21);

select pgflow.ensure_flow_compiled('own', '{"steps": [{"slug": "m", "stepType": "map"}, {"slug": "x"}, {"slug": "y", "dependencies": ["x"]}]}', 'step') \g /dev/null
select pgflow.ensure_flow_compiled('other', '{"steps": [{"slug": "x"}]}', 'step') \g /dev/null

select is_empty('select * from pgflow.check_integrity()', 'nothing is wrong where nothing is');
select run_id as run from pgflow.start_flow('own', '[0, 1]') \gset
select run_id as done from pgflow.start_flow('other', '{}') \gset
select run_id as failed from pgflow.start_flow('own', '[0, 1]') \gset
select t.claim('own', 'm', 1, 1), t.claim('other', 'x') \g /dev/null
select pgflow.complete_task(:'done', 'x', 0, '1'), pgflow.complete_task(:'run', 'm', 0, '1'), pgflow.cancel_run(:'failed') \g /dev/null
select is_empty('select * from pgflow.check_integrity()', 'nor in what the functions did');
select throws_ok('select pgflow.check_integrity(max_runs => -1)', '22023', null, 'a number of runs');

-- What is found after a statement that the functions would never make; the state before comes back.
create function pg_temp.after(p_change text, p_flow text default null, p_runs int default 1000) returns text[] language plpgsql as $$
declare
  v_found text[];
begin
  begin
    execute p_change;
    select array_agg(format('%s %s[%s]', invariant, step_slug, task_index) order by invariant, step_slug, task_index)
      into v_found from pgflow.check_integrity(p_flow, p_runs);
    raise exception using errcode = 'RB000', message = 'back';
  exception when sqlstate 'RB000' then
    return v_found;
  end;
end $$;

select is(pg_temp.after(format($$ update pgflow.step_tasks set status = 'queued' where run_id = %L and step_slug = 'x' $$, :'failed')), '{"1 x[0]","5 x[0]"}', 'an unfinished task of a failed run');
select is(pg_temp.after(format($$ update pgflow.step_states set status = 'skipped', skip_reason = 'x', remaining_tasks = null where run_id = %L and step_slug = 'x' $$, :'run')), '{"2 x[0]","4 []"}', 'one of a skipped step');
select is(pg_temp.after(format($$ update pgflow.step_states set remaining_tasks = 2 where run_id = %L and step_slug = 'm' $$, :'run')), '{"3 m[]"}', 'a step that counted wrong');
select is(pg_temp.after(format($$ update pgflow.runs set remaining_steps = 2 where run_id = %L $$, :'run')), '{"4 []"}', 'a run that counted wrong');
select is(pg_temp.after(format($$ update pgflow.runs set status = 'completed', completed_at = now() where run_id = %L $$, :'run')), '{"4 []"}', 'or ended too early');
select is(pg_temp.after($$ select pgmq.purge_queue('own__x') $$), '{"5 x[0]"}', 'a message that is gone');
select is(pg_temp.after(format($$ update pgflow.step_tasks set message_id = null where run_id = %L and step_slug = 'm' and task_index = 1 $$, :'run')), '{"5 m[1]"}', 'a task without a message');
select is(pg_temp.after(format($$ select pgmq.send('own__m', '{}'); update pgflow.step_tasks set message_id = (select max(msg_id) from pgmq.q_own__m) where run_id = %L and step_slug = 'm' and task_index = 0 $$, :'run')), '{"5 m[0]"}', 'a message that stayed');
select is(pg_temp.after(format($$ update pgflow.step_tasks set queue_name = 'other__x', message_id = 99 where run_id = %L and step_slug = 'm' and task_index = 0 $$, :'run')), '{"6 m[0]"}', 'a task on another queue');
select is(pg_temp.after(format($$ update pgflow.step_tasks set attempts_count = 0 where run_id = %L $$, :'done')), '{"7 x[0]"}', 'a result of no attempt');
select is(pg_temp.after(format($$ update pgflow.runs set flow_slug = 'gone' where run_id = %L $$, :'done')), '{"8 []"}', 'a run without a flow');
select is(pg_temp.after(format($$ delete from pgflow.runs where run_id = %L $$, :'done')), '{"8 x[]"}', 'steps without a run');
select is(pg_temp.after(format($$ delete from pgflow.step_states where run_id = %L $$, :'done')), '{"8 x[0]"}', 'tasks without a step');

select is(pg_temp.after(format($$ delete from pgflow.runs where run_id = %L $$, :'done'), 'other'), '{"8 x[]"}', 'of this flow');
select is(pg_temp.after(format($$ delete from pgflow.runs where run_id = %L $$, :'done'), 'own'), null, 'and not of another');
select is(pg_temp.after('delete from pgflow.runs'), '{"8 m[]","8 m[]","8 x[]","8 x[]","8 x[]","8 y[]","8 y[]"}', 'also when no run is left');

select is(pg_temp.after(format($$ update pgflow.runs set remaining_steps = 2 where run_id = %L $$, :'run'), 'other'), null, 'of the flow that is asked for');
select is(pg_temp.after(format($$ update pgflow.runs set remaining_steps = 2 where run_id = %L $$, :'run'), null, 1), null, 'and of the newest runs only');

select * from finish();
rollback;
