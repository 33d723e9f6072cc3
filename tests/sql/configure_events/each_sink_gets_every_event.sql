-- Events go where configure_events says, and cost nothing when nobody listens.
begin;
select plan(22);

select is(obj_description('pgflow._emit(jsonb, text, text)'::regprocedure, 'pg_proc'), 'sinks:', 'without realtime there is no sink');
select is(pgflow._emits(), false, 'and nobody listens');

create function pg_temp.refusal(p_sinks text[]) returns text language plpgsql as $$
declare
  v_constraint text;
begin
  perform pgflow.configure_events(p_sinks);
  return 'no error';
exception when others then
  get stacked diagnostics v_constraint = constraint_name;
  return v_constraint;
end $$;
select is(pg_temp.refusal(array['mail']), 'pgflow_event_sink', 'an unknown sink is refused');
select is(pg_temp.refusal(array['notify', null]), 'pgflow_event_sink', 'so is none among others');
select is(pg_temp.refusal(array['realtime']), 'pgflow_event_sink', 'realtime needs its function');
select is(pg_temp.refusal(array['hook']), 'pgflow_event_sink', 'a hook needs its function');
select is(pgflow._emits(), false, 'a refused choice changes nothing');

-- All of them at once.
create schema realtime;
create table pg_temp.heard (id serial, sink text, payload jsonb, event text, topic text);
create function realtime.send(payload jsonb, event text, topic text, private boolean default true) returns void language sql
as $$ insert into pg_temp.heard (sink, payload, event, topic) values ('realtime ' || private, payload, event, topic) $$;
create function pgflow.on_event(payload jsonb, event text, topic text) returns void language plpgsql as $$
begin
  insert into pg_temp.heard (sink, payload, event, topic) values ('hook', payload, event, topic);
  if event = 'step:a:started' then
    raise exception 'the hook does not like it';
  end if;
end $$;
select lives_ok($$ select pgflow.configure_events(array['realtime', 'hook', 'notify', 'table', 'table']) $$, 'all sinks together');
select is(pgflow._emits(), true, 'somebody listens');
select is(obj_description('pgflow._emit(jsonb, text, text)'::regprocedure, 'pg_proc'), 'sinks:hook,notify,realtime,table', 'the choice is kept');

select pgflow.create_flow('told') \g /dev/null
select pgflow.add_step('told', 'a') \g /dev/null
insert into pgflow.workers values ('00000000-0000-4000-8000-000000000001', 'told', 'f');
set local client_min_messages = error;
select run_id as run from pgflow.start_flow('told', '{"x": 1}') \gset
select pgflow.start_tasks('told', '{1}', '00000000-0000-4000-8000-000000000001', 'told') \g /dev/null
select pgflow.complete_task(:'run', 'a', 0, '"out"') \g /dev/null
select results_eq(
  $$ select event from pg_temp.heard where sink = 'realtime false' order by id $$,
  $$ values ('run:started'), ('step:a:started'), ('step:a:completed'), ('run:completed') $$, 'realtime hears all, publicly'
);
select is((select array_agg(distinct topic) from pg_temp.heard), array['pgflow:run:' || :'run'], 'on the run''s topic');
select is((select count(*) from pg_temp.heard where sink = 'hook'), 3::bigint, 'the hook''s own error undoes only its own work');
select is((select count(*) from pgflow.event_log where run_id = :'run'), 4::bigint, 'the table keeps all');

-- What an event says.
create function pg_temp.keys(p_event text) returns text language sql
as $$ select string_agg(k, ' ' order by k) from pgflow.event_log, jsonb_object_keys(payload) k where event = p_event $$;
select is(pg_temp.keys('run:started'), 'event_type flow_slug input remaining_steps run_id started_at status', 'run:started');
select is(pg_temp.keys('run:completed'), 'completed_at event_type flow_slug output run_id status', 'run:completed');
select is(pg_temp.keys('step:a:started'), 'event_type flow_slug remaining_deps remaining_tasks run_id started_at status step_slug', 'step:started');
select is(pg_temp.keys('step:a:completed'), 'completed_at event_type flow_slug output run_id status step_slug', 'step:completed');
select is((select payload->>'event_type' from pgflow.event_log where event = 'step:a:completed'), 'step:completed', 'the type is without the slug');
select is((select payload->'output' from pgflow.event_log where event = 'run:completed'), '{"a": "out"}', 'the output is the run''s');

-- Off again.
select pgflow.configure_events('{}') \g /dev/null
select pgflow.start_flow('told', '{}') \g /dev/null
select is((select count(*) from pgflow.event_log), 4::bigint, 'switched off, nothing is told');
select is(pgflow._emits(), false, 'nobody listens');

select * from finish();
rollback;
