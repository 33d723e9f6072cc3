-- What the three roles may do, and that they may do nothing else; PUBLIC may do nothing at all.
\ir ../support.psql
\ir ../../../sql/operator/prune_data_older_than.sql
\ir ../../../sql/operator/roles.sql
\ir ../../../sql/operator/roles.sql
select plan(97);

-- What a statement answers for a role: its first value, or the SQLSTATE of the refusal.
create function tap.as_role(p_role text, p_sql text) returns text language plpgsql as $$
declare
  v_answer text;
begin
  perform set_config('role', 'pgflow_' || p_role, true);
  execute p_sql into v_answer;
  perform set_config('role', 'none', true);
  return coalesce(v_answer, '');
exception when others then
  return sqlstate;
end $$;
create function tap.refused(p_role text, p_sql text) returns text language sql as $$
  select tap.is(tap.as_role(p_role, p_sql), '42501', p_role || ' may not: ' || p_sql)
$$;
create function tap.answers(p_role text, p_sql text, p_answer text) returns text language sql as $$
  select tap.is(tap.as_role(p_role, p_sql), p_answer, p_role || ' may: ' || p_sql)
$$;

-- With an empty search_path a session's temporary schema comes first, for types and relations: a domain there that is
-- called `text` would run its check with the owner's rights.
create function tap.with_a_false_text(p_sql pg_catalog.text) returns pg_catalog.text language plpgsql as $$
declare
  v_answer pg_catalog.text := 'not used';
begin
  create function pg_temp.told(value pg_catalog.text) returns boolean language plpgsql as 'begin raise exception ''used''; end';
  create domain pg_temp.text as pg_catalog.text check (pg_temp.told(value));
  begin
    execute p_sql;
  exception when raise_exception then
    v_answer := sqlerrm;
  end;
  drop domain pg_temp.text;
  drop function pg_temp.told(pg_catalog.text);
  return v_answer;
end $$;
select is(
  tap.with_a_false_text('select pgflow.delete_flow_and_data(''nobody'')'), 'not used', 'no temporary type is taken for a real one'
);

-- PUBLIC.
select is(
  (select string_agg(p.oid::regprocedure::text, ', ') from pg_proc p
    where p.pronamespace in ('pgflow'::regnamespace, 'pgmq'::regnamespace)
      and exists (select from aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a where a.grantee = 0)),
  null, 'PUBLIC may execute nothing'
);
select is(
  (select string_agg(c.oid::regclass::text, ', ') from pg_class c
    where c.relnamespace in ('pgflow'::regnamespace, 'pgmq'::regnamespace)
      and exists (select from aclexplode(c.relacl) a where a.grantee = 0)),
  null, 'nor touch a table'
);
select is(
  (select string_agg(n.nspname, ', ') from pg_namespace n
    where n.nspname in ('pgflow', 'pgmq') and exists (select from aclexplode(n.nspacl) a where a.grantee = 0)),
  null, 'nor look into the schemas'
);
-- Who has owner's rights is decided in one place.
select is(
  (select string_agg(p.oid::regprocedure::text, ', ' order by p.oid::regprocedure::text collate "C") from pg_proc p
    where p.pronamespace = 'pgflow'::regnamespace and p.prosecdef
      and not has_function_privilege('pgflow_operator', p.oid, 'execute')),
  'pgflow.cleanup_ensure_workers_logs(integer), pgflow.setup_ensure_workers_cron(text), pgflow.setup_requeue_stalled_tasks_cron(text)',
  'functions with the owner''s rights that no role may call'
);
select is(
  (select string_agg(p.oid::regprocedure::text, ', ') from pg_proc p
    where p.pronamespace = 'pgflow'::regnamespace and p.prosecdef
      and not coalesce('search_path=pg_catalog, pg_temp' = any (p.proconfig), false)),
  null, 'all of them set their search_path'
);
select is(
  (select string_agg(grantee::regrole || ' ' || c.oid::regclass || ' ' || privilege_type, ', ')
     from pg_class c cross join lateral aclexplode(c.relacl)
     where c.relnamespace in ('pgflow'::regnamespace, 'pgmq'::regnamespace)
       and grantee <> c.relowner and privilege_type <> 'SELECT'),
  null, 'no role may write to a table'
);

-- An operator compiles; what is made belongs to the schema's owner.
select answers('operator', format($$ select pgflow.ensure_flow_compiled('threads', %L, 'step') ->> 'status' $$, shape('a', 'b:a')), 'compiled');
select answers('operator', format($$ select pgflow.ensure_flow_compiled('plain', %L) ->> 'status' $$, shape('a')), 'compiled');
select is((select string_agg(distinct tableowner, ',') from pg_tables where schemaname = 'pgmq'), current_user::text, 'queues belong to the owner');

-- A worker's life.
\set w '''00000000-0000-4000-8000-000000000001'''
select answers('worker', format($$ select pgflow.ensure_flow_compiled('threads', %L, 'step') ->> 'status' $$, shape('a', 'b:a')), 'verified');
select answers('worker', format($$ select pgflow.verify_flow_compiled('threads', %L, 'step') ->> 'status' $$, shape('a', 'b:a')), 'verified');
select answers('worker', 'select max(version) > 0 from pgflow.schema_migrations', 'true');
select answers('worker', 'select pgflow.schema_version() > 0', 'true');
select answers('worker', format('select pgflow.register_worker(%L, ''threads__a'', ''threads/a'')', :w), '');
select answers('worker', format('select is_deprecated from pgflow.heartbeat(%L)', :w), 'false');
select answers('operator', $$ select status from pgflow.start_flow('threads', '{"id": 1}') $$, 'started');
select answers('worker', format($$ select outcome from pgflow.read_and_claim('threads__a', 'threads', 'a', %L, 1) $$, :w), 'claimed');
select answers('worker', format($$ select outcome from pgflow.fail_tasks(
  (select jsonb_agg(jsonb_build_object('run_id', %L, 'step_slug', 'a', 'task_index', 0, 'attempt', 1, 'error', 'no'))), %L) $$,
  (select run_id from pgflow.runs), :w), 'applied');
select answers('worker', $$ select vt > now() from pgflow.set_vt_batch('threads__a', array[1], array[100]) $$, 'true');
select pgmq.create('private'), pgmq.send('private', '{"secret": 1}') \g /dev/null
select answers('worker', $$ select message from pgflow.set_vt_batch('private', array[1], array[100]) $$, '42P01');
select pgmq.drop_queue('private') \g /dev/null
select answers('worker', $$ select pgflow.next_visible_at('threads__a') > now() $$, 'true');
select answers('worker', $$ select vt <= clock_timestamp() from pgflow.set_vt_batch('threads__a', array[1], array[0]) $$, 'true');
select answers('worker', format($$ select outcome from pgflow.read_and_claim('threads__a', 'threads', 'a', %L, 1) $$, :w), 'claimed');
select answers('worker', format($$ select pgflow.release_tasks(%1$L, array(select t.message_id from pgflow.step_tasks t
  where t.last_worker_id = %1$L and t.status = 'started' and t.message_id <> all ('{}'::bigint[]))) $$, :w), '1');
select answers('worker', format($$ select outcome from pgflow.read_and_claim('threads__a', 'threads', 'a', %L, 1) $$, :w), 'claimed');
select answers('worker', format($$ select outcome from pgflow.complete_tasks(
  (select jsonb_agg(jsonb_build_object('run_id', %L, 'step_slug', 'a', 'task_index', 0, 'attempt', 2, 'output', 1))), %L) $$,
  (select run_id from pgflow.runs), :w), 'applied');
select answers('worker', format('select pgflow.mark_worker_stopped(%L)', :w), '');

-- A queue that is made after the grants.
select answers('operator', format($$ select pgflow.ensure_flow_compiled('later', %L, 'step') ->> 'status' $$, shape('x')), 'compiled');
select answers('operator', $$ select status from pgflow.start_flow('later', '1') $$, 'started');
\set w2 '''00000000-0000-4000-8000-000000000002'''
select answers('worker', format('select pgflow.register_worker(%L, ''later__x'', ''later/x'')', :w2), '');
select answers('worker', format($$ select outcome from pgflow.read_and_claim('later__x', 'later', 'x', %L, 1) $$, :w2), 'claimed');
select answers('reader', 'select count(*) from pgmq.q_later__x', '1');
select answers('reader', 'select count(*) from pgmq.a_later__x', '0');

-- And nothing else.
select refused('worker', statement) from unnest(array[
  $$ select pgflow.delete_flow_and_data('threads') $$,
  $$ select pgflow.ensure_flow_compiled('new', '{"steps": [{"slug": "a"}]}', 'step') $$,
  $$ select pgflow.create_flow('new') $$,
  $$ select pgflow.add_step('plain', 'b') $$,
  $$ select pgflow.start_flow('threads', '{}') $$,
  $$ select pgflow.cancel_run(gen_random_uuid()) $$,
  $$ select pgflow.fence_functions(gen_random_uuid(), 't', array['threads/a'], 'me', 'why') $$,
  $$ select pgflow.deprecate_workers(array['threads/a']) $$,
  $$ select pgflow.supervisor_heartbeat(gen_random_uuid(), 'n', 'h', 1, array['threads/a']) $$,
  $$ select pgflow.release_worker(gen_random_uuid(), 'dead') $$,
  $$ select pgflow.requeue_stalled_tasks() $$,
  $$ select pgflow.prune_data_older_than('1 day') $$,
  $$ select pgflow.configure_events(array['table']) $$,
  $$ select pgflow.setup_requeue_stalled_tasks_cron() $$,
  $$ select pgmq.drop_queue('threads__a') $$,
  $$ select pgmq.create('mine') $$,
  $$ select pgmq.send('threads__a', '1') $$,
  $$ select pgmq.read('threads__a', 1, 1) $$,
  $$ select from pgmq.q_threads__a $$,
  $$ select input from pgflow.runs $$,
  $$ select output from pgflow.step_tasks $$,
  $$ update pgflow.step_tasks set status = 'queued' $$,
  $$ delete from pgflow.runs $$,
  $$ insert into pgflow.workers (worker_id, queue_name, function_name) values (gen_random_uuid(), 'q', 'f') $$,
  $$ update pgflow.worker_functions set enabled = true $$,
  $$ insert into pgflow.flows (flow_slug) values ('x') $$,
  $$ create table pgflow.mine () $$,
  $$ create function pgflow.mine() returns int language sql as 'select 1' $$
]) statement;

-- A reader.
select answers('reader', 'select count(*) from pgflow.runs', '2');
select answers('reader', $$ select pgflow.get_run_with_states(run_id) -> 'run' ->> 'status' from pgflow.runs where flow_slug = 'threads' $$, 'started');
select answers('reader', $$ select count(*) from pgflow.route_coverage('threads') $$, '2');
select answers('reader', $$ select count(*) from pgflow.stalled_tasks() $$, '0');
select answers('reader', $$ select queue_length from pgmq.metrics('threads__b') $$, '1');
select answers('reader', $$ select count(*) from pgmq.list_queues() $$, '4');
select refused('reader', statement) from unnest(array[
  $$ select pgflow.start_flow('threads', '{}') $$,
  $$ select pgflow.read_and_claim('threads__b', 'threads', 'b', gen_random_uuid(), 1) $$,
  $$ select pgflow.register_worker(gen_random_uuid(), 'q', 'f') $$,
  $$ select pgflow.complete_tasks('[{"run_id": "00000000-0000-4000-8000-000000000001", "step_slug": "a", "task_index": 0, "output": 1}]') $$,
  $$ select pgflow.delete_flow_and_data('threads') $$,
  $$ select pgflow.cancel_run(gen_random_uuid()) $$,
  $$ select pgmq.purge_queue('threads__b') $$,
  $$ update pgflow.runs set status = 'failed' $$,
  $$ delete from pgmq.q_threads__b $$
]) statement;

-- An operator.
select answers('operator', $$ select count(*) from pgflow.fence_functions(gen_random_uuid(), 't', array['later/x'], 'me', 'why') $$, '1');
select answers('operator', $$ select string_agg(function_name, ',') from pgflow.drain_status(array['later/x']) $$, 'later/x');
select answers('operator', $$ select count(*) from pgflow.supervisor_heartbeat('00000000-0000-4000-8000-00000000000a', 'n', 'h', 1, array['later/x']) $$, '1');
select answers('operator', $$ select pgflow.ack_fence((select fence_id from pgflow.fences), '00000000-0000-4000-8000-00000000000a') $$, 'true');
select answers('operator', $$ select count(*) from pgflow.pending_fence_acks((select fence_id from pgflow.fences)) $$, '0');
select answers('operator', $$ select count(*) from pgflow.unfence_functions((select fence_id from pgflow.fences), 't') $$, '1');
select answers('operator', $$ select pgflow.deprecate_workers(array['later/x']) $$, '1');
select answers('operator', format('select pgflow.release_worker(%L, ''gone'')', :w2), '1');
update pgflow.step_tasks set queued_at = now() - interval '2 hours';
select answers('operator', $$ select pgflow.requeue_stalled_tasks() $$, '0');
select answers('operator', $$ select count(*) from pgflow.requeue_tasks('[]') $$, '0');
select answers('operator', $$ select status from pgflow.cancel_run((select run_id from pgflow.runs where flow_slug = 'later')) $$, 'failed');
select answers('operator', $$ select pgflow.delete_flow_and_data('later') $$, '');
select answers('operator', $$ select (pgflow.create_flow('byhand')).flow_slug $$, 'byhand');
select answers('operator', $$ select (pgflow.add_step('byhand', 'a')).step_slug $$, 'a');
select answers('operator', $$ select pgflow.prune_data_older_than('1 day') $$, '');
set role pgflow_operator;
call pgflow.prune_data('1 day');
reset role;
select refused('operator', statement) from unnest(array[
  $$ update pgflow.runs set status = 'failed' $$,
  $$ delete from pgflow.flows $$,
  $$ select pgmq.drop_queue('threads__a') $$,
  $$ select pgmq.send('threads__a', '1') $$,
  $$ drop table pgmq.q_threads__a $$
]) statement;
select * from finish();
