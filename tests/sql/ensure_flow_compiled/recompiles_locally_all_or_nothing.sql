-- A local database recompiles what differs, completely or not at all.
\ir ../support.psql
begin;
select plan(28);
create function pg_temp.status(p_shape jsonb, p_mode text) returns text language sql as
$$ select result ->> 'status' || ' ' || coalesce(result ->> 'mismatchKind', 'null') || ' ' || jsonb_array_length(result -> 'differences')
     from pgflow.ensure_flow_compiled('devV1', p_shape, p_mode) result $$;

select is(pgflow.is_local(), false, 'production is the default');
select set_config('app.settings.jwt_secret', 'super-secret-jwt-token-with-at-least-32-characters-long', true);
select is(pgflow.is_local(), true, 'Supabase''s local secret makes a database local');
select set_config('app.settings.jwt_secret', 'another', true);
select is(pgflow.is_local(), false, 'another secret does not');
select set_config('pgflow.environment', 'local', true);
select is(pgflow.is_local(), true, 'nor is the setting of our own tool forgotten');

select is(pg_temp.status(shape('a', 'b:a'), 'flow'), 'compiled null 0', 'a plain flow');
insert into pgflow.runs (flow_slug, input) values ('devV1', '1');
insert into pgflow.step_states (flow_slug, run_id, step_slug) select 'devV1', run_id, 'a' from pgflow.runs;
insert into pgflow.step_tasks (flow_slug, run_id, step_slug, queue_name, message_id)
  select 'devV1', run_id, 'a', 'devv1', pgmq.send('devv1', '{}') from pgflow.runs;
select is(pg_temp.status(shape('a', 'b:a'), 'flow'), 'verified null 0', 'is verified');
select is((select count(*)::int from pgflow.runs), 1, 'and keeps its runs');
-- A worker of a supervisor only verifies: what others run stays.
create function pg_temp.verified(p_shape jsonb, p_mode text) returns text language sql as
$$ select result ->> 'status' || ' ' || coalesce(result ->> 'mismatchKind', 'null') || ' ' || jsonb_array_length(result -> 'differences')
     from pgflow.verify_flow_compiled('devV1', p_shape, p_mode) result $$;
select is(pg_temp.verified(shape('a', 'b:a'), 'flow'), 'verified null 0', 'an equal flow is verified');
select is(pg_temp.verified(shape('a', 'b:a'), 'step'), 'mismatch routing 2', 'another mode is a mismatch');
select is(pg_temp.verified(shape('b'), 'flow'), 'mismatch shape 4', 'another shape is one too');
select is((select count(*)::int from pgflow.runs), 1, 'and the runs stay');
select is(pgflow.verify_flow_compiled('otherV1', shape('a')) ->> 'status', 'compiled', 'a missing flow is compiled');
select pgflow.delete_flow_and_data('otherV1') \g /dev/null
-- A17: what differs is recompiled.
select is(pg_temp.status(shape('a', 'b:a'), 'step'), 'recompiled null 2', 'another mode recompiles');
select is(queues(), 'devv1__a devv1__b', 'into exactly the new queues');
select is((select count(*)::int from pgflow.runs), 0, 'without the old runs');
select pgmq.create('devv1');
select is(pg_temp.status(shape('b'), 'step'), 'recompiled null 4', 'another shape recompiles');
select is(queues(), 'devv1 devv1__b', 'and leaves alone a queue of the default name');
select kind_is($$ select pg_temp.status(shape('b'), 'flow') $$, 'default_queue_taken', 'which blocks the way back to flow mode');

-- A18: a recompilation that is refused keeps everything.
insert into pgflow.runs (flow_slug, input) values ('devV1', '1');
select kind_is($$ select pg_temp.status(shape('b__c'), 'step') $$, 'invalid_step_slug', 'an invalid shape is refused');
select pgmq.create('devv1__c');
select kind_is($$ select pg_temp.status(shape('b', 'c'), 'step') $$, 'queue_unowned', 'so is a foreign queue, after the deletion');
select is(queues(), 'devv1 devv1__b devv1__c', 'the old queues are there');
select is((select string_agg(step_slug || queue_mode, ',') from pgflow.steps join pgflow.flows using (flow_slug)), 'bstep', 'the old definition');
select is((select count(*)::int from pgflow.runs), 1, 'and the old runs');

-- A17: swapped routes are put right again; the queue of a route that was bent elsewhere is nobody's, so that is refused.
select pgmq.drop_queue('devv1__c');
select is(pg_temp.status(shape('b', 'c'), 'step'), 'recompiled null 3', 'two steps');
update pgflow.steps set queue_name = case step_slug when 'b' then 'devv1__c' else 'devv1__b' end;
select is(pg_temp.status(shape('b', 'c'), 'step'), 'recompiled null 1', 'swapped routes recompile');
select is((select string_agg(queue_name, ' ' order by step_index) from pgflow.steps), 'devv1__b devv1__c', 'into the derived ones');
update pgflow.steps set queue_name = 'elsewhere' where step_slug = 'b';
select kind_is($$ select pg_temp.status(shape('b', 'c'), 'step') $$, 'queue_unowned', 'a bent route leaves a queue without owner');
select is(queues(), 'devv1 devv1__b devv1__c', 'and everything as it was');

select * from finish();
rollback;
