-- ensure_workers calls enabled HTTP functions that are silent; schemas `net` and `vault` are stand-ins made here.
begin;
select plan(22);

insert into pgflow.worker_functions (function_name, start_mode, enabled, debounce) values
  ('http', 'http', true, '10 s'), ('off', 'http', false, '10 s'), ('process', 'process', true, '10 s');
select is_empty('select pgflow.ensure_workers()', 'without pg_net nobody is called, in production');
set local pgflow.environment = 'local';
select is_empty('select pgflow.ensure_workers()', 'nor locally');

create schema net;
create table net.calls (id bigint generated always as identity, url text, headers jsonb, body jsonb);
create function net.http_post(
  url text, body jsonb default '{}', params jsonb default '{}', headers jsonb default '{"Content-Type": "application/json"}',
  timeout_milliseconds int default 5000
) returns bigint language sql as $$ insert into net.calls (url, headers, body) values (url, headers, body) returning id $$;

-- Local: everything enabled, each time.
select results_eq('select * from pgflow.ensure_workers()', $$ values ('http', true, 1::bigint) $$, 'locally the enabled HTTP function is called');
select results_eq(
  'select url, headers, body from net.calls',
  $$ values ('http://kong:8000/functions/v1/http', '{}'::jsonb, '{}'::jsonb) $$, 'through the local gateway, without headers'
);
select isnt((select last_invoked_at from pgflow.worker_functions where function_name = 'http'), null, 'which is remembered');
insert into pgflow.workers (worker_id, queue_name, function_name) values (gen_random_uuid(), 'q', 'http');
select results_eq('select request_id from pgflow.ensure_workers()', $$ values (2::bigint) $$, 'and again, whoever lives');

-- Production: only with secrets, only the silent.
set local pgflow.environment = '';
delete from pgflow.workers;
update pgflow.worker_functions set last_invoked_at = null;
select is_empty('select pgflow.ensure_workers()', 'without vault nobody is called');
create schema vault;
create table vault.decrypted_secrets (name text, decrypted_secret text);
select is_empty('select pgflow.ensure_workers()', 'without secrets nobody is called');
insert into vault.decrypted_secrets values ('supabase_project_id', 'abc'), ('pgflow_auth_secret', '');
select is_empty('select pgflow.ensure_workers()', 'an empty secret is none');
insert into vault.decrypted_secrets values ('supabase_service_role_key', 'service');
select results_eq('select function_name, invoked from pgflow.ensure_workers()', $$ values ('http', true) $$, 'a silent function is called');
select results_eq(
  'select url, headers from net.calls where id = 3',
  $$ values ('https://abc.supabase.co/functions/v1/http', '{"Content-Type": "application/json", "Authorization": "Bearer service"}'::jsonb) $$,
  'at its project, with the service key'
);
select is_empty('select pgflow.ensure_workers()', 'not again within its debounce');
update pgflow.worker_functions set last_invoked_at = now() - interval '11 s';
update vault.decrypted_secrets set decrypted_secret = 'own' where name = 'pgflow_auth_secret';
select is((select count(*) from pgflow.ensure_workers()), 1::bigint, 'but after it');
select is((select headers ->> 'Authorization' from net.calls where id = 4), 'Bearer own', 'the secret of our own comes first');

create function pg_temp.called_with(p_worker text) returns bigint language plpgsql as $$
begin
  delete from pgflow.workers;
  update pgflow.worker_functions set last_invoked_at = null;
  execute 'insert into pgflow.workers (worker_id, queue_name, function_name, last_heartbeat_at, deprecated_at, stopped_at) values (gen_random_uuid(), ''q'', ''http'', '
    || p_worker || ')';
  return (select count(*) from pgflow.ensure_workers());
end $$;
select is(pg_temp.called_with($$now() - interval '9 s', null, null$$), 0::bigint, 'a live worker is left alone');
select is(pg_temp.called_with($$now() - interval '11 s', null, null$$), 1::bigint, 'a silent one is not alive');
select is(pg_temp.called_with($$now(), now(), null$$), 1::bigint, 'nor is a deprecated one');
select is(pg_temp.called_with($$now(), null, now()$$), 1::bigint, 'nor a stopped one');
update pgflow.worker_functions set debounce = '1 h' where function_name = 'http';
select is(pg_temp.called_with($$now() - interval '11 s', null, null$$), 0::bigint, 'the debounce is the function''s');

select is_empty($$ select from net.calls where url ~ 'off|process' $$, 'disabled functions and processes were never called');
select is((select last_invoked_at from pgflow.worker_functions where function_name = 'process'), null, 'nor marked');
delete from vault.decrypted_secrets where name = 'supabase_project_id';
update pgflow.worker_functions set last_invoked_at = null;
delete from pgflow.workers;
select is_empty('select pgflow.ensure_workers()', 'without the project nobody is called');

select * from finish();
rollback;
