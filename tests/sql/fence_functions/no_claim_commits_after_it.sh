#!/usr/bin/env bash
# A fence waits for a claim that is under way; a claim that comes while it waits is refused, and after it none commits.
. "$(dirname "$0")/../../support/sql_sessions.bash"

sql <<'SQL'
select pgflow.create_flow('own') \g /dev/null
select pgflow.add_step('own', 's') \g /dev/null
select pgflow.start_flow('own', '{}') from generate_series(1, 3) \g /dev/null
select pgflow.register_worker(('00000000-0000-4000-8000-00000000000' || n)::uuid, 'own', 'f') from generate_series(1, 2) n \g /dev/null
create table told (n int generated always as identity, what text);
create table go ();
create function claim(worker int) returns bigint language sql as $$
  select count(*) from pgflow.read_and_claim('own', 'own', null, ('00000000-0000-4000-8000-00000000000' || worker)::uuid, 1)
$$;
create function goes_on() returns void language plpgsql as $$
begin
  for i in 1..6000 loop
    exit when exists (select from go);
    perform pg_sleep(0.01);
  end loop;
end $$;
SQL
locked="select exists (select from pg_locks where locktype = 'advisory' and classid = 2 and"

session claim "begin; select claim(1); select goes_on(); insert into told (what) values ('claimed'); commit"
eventually 30 'a claim is under way' "$locked granted)"
session fence "begin; select pgflow.fence_functions(gen_random_uuid(), 'x', '{f}', 'me', 'test');
  insert into told (what) values ('fenced'); commit"
eventually 30 'the fence waits for it' "$locked not granted)"
equal 'a claim that comes now is refused' 0 "$(sql -c 'select claim(2)')"
sql -c 'insert into go default values'
join
equal 'the claim came before the fence' 'claimed,fenced' "$(sql -c "select string_agg(what, ',' order by n) from told")"
equal 'no claim comes after it' 0 "$(sql -c 'select claim(2)')"
equal 'the claimed task is in hand, the others wait' 'queued,queued,started' \
  "$(sql -c "select string_agg(status, ',' order by status) from pgflow.step_tasks")"
