-- A database is production unless one of two settings says that it belongs to a developer.
begin;
select plan(7);

select is(pgflow.is_local(), false, 'without settings it is production');
set local app.settings.jwt_secret = 'super-secret-jwt-token-with-at-least-32-characters-long';
select is(pgflow.is_local(), true, 'the well-known secret of a local Supabase');
set local app.settings.jwt_secret = 'super-secret-jwt-token-with-at-least-32-characters-lonG';
select is(pgflow.is_local(), false, 'any other secret');
set local pgflow.environment = 'local';
select is(pgflow.is_local(), true, 'our own setting');
set local pgflow.environment = 'production';
select is(pgflow.is_local(), false, 'with another value');
set local pgflow.environment = '';
set local app.settings.jwt_secret = '';
select is(pgflow.is_local(), false, 'with empty values');
select volatility_is('pgflow', 'is_local', 'stable', 'it is stable');

select * from finish();
rollback;
