-- A supervisor hears of the fences around its functions, says when nothing of them runs, and only live ones are waited for.
\ir ../../support/engine.psql
begin;
select plan(21);

create function pg_temp.id(n int) returns uuid language sql as $$ select ('00000000-0000-4000-9000-' || lpad(n::text, 12, '0'))::uuid $$;
create function pg_temp.beat(n int, functions text[]) returns text language sql as $$
  select coalesce(string_agg(right(fence_id::text, 1) || array_to_string(function_names, '+') || ' ' || owner || ' ' || reason || ' ' || is_acked, ', '), 'none')
    from pgflow.supervisor_heartbeat(pg_temp.id(n), 'name' || n, 'here', n, functions)
$$;
create function pg_temp.pending(fence int) returns text language sql as $$
  select coalesce(string_agg(name || ' ' || host_id || ' ' || pid, ', '), 'nobody') from pgflow.pending_fence_acks(pg_temp.id(fence))
$$;

select is(pg_temp.beat(11, array['a', 'b']), 'none', 'no fence stands');
select results_eq(
  $$ select name, host_id, pid, function_names, last_seen_at > now() - interval '1 minute', stopped_at from pgflow.supervisors $$,
  $$ values ('name11', 'here', 11, array['a', 'b'], true, null::timestamptz) $$, 'a supervisor that beats is written down'
);
select pg_temp.beat(12, array['c']) \g /dev/null
select pgflow.fence_functions(pg_temp.id(1), 'secret', array['a', 'x'], 'ops', 'deployment') \g /dev/null
select is(pg_temp.beat(11, array['a', 'b']), '1a+x ops deployment false', 'a fence around one of its functions is told, with its whole set');
select is(pg_temp.beat(12, array['c']), 'none', 'others do not hear of it');
select is(pg_temp.pending(1), 'name11 here 11', 'who runs one of its functions is waited for');
select is(pgflow.ack_fence(pg_temp.id(1), pg_temp.id(11)), true, 'it says that nothing of the set runs any more');
select is(pgflow.ack_fence(pg_temp.id(1), pg_temp.id(11)), true, 'twice is once');
select is((select count(*) from pgflow.fence_acks), 1::bigint, 'one acknowledgement');
select is(pg_temp.pending(1), 'nobody', 'and is waited for no longer');
select is(pg_temp.beat(11, array['a', 'b']), '1a+x ops deployment true', 'it hears that it was heard');
select is(pg_temp.beat(13, array['x', 'a']), '1a+x ops deployment false', 'a supervisor that starts later hears of it at once');
select is(pg_temp.pending(1), 'name13 here 13', 'and is waited for');
select pgflow.mark_supervisor_stopped(pg_temp.id(13)) \g /dev/null
select is(pg_temp.pending(1), 'nobody', 'until it stops');
select is(pg_temp.beat(13, array['x']) || pg_temp.pending(1), '1a+x ops deployment falsename13 here 13', 'one that beats is not stopped');
update pgflow.supervisors set last_seen_at = clock_timestamp() - interval '7 s' where pid = 13;
select is(pg_temp.pending(1), 'nobody', 'a silent one is not waited for');

select pgflow.fence_functions(pg_temp.id(2), 'other', array['a'], 'me', 'repair') \g /dev/null
select pgflow.unfence_functions(pg_temp.id(1), 'secret') \g /dev/null
select is(pg_temp.beat(11, array['a', 'b']), '2a me repair false', 'a fence that was lifted is told no more; another one needs its own acknowledgement');
select is(pgflow.ack_fence(pg_temp.id(1), pg_temp.id(11)), false, 'a lifted fence is not acknowledged');
select is(pgflow.ack_fence(pg_temp.id(9), pg_temp.id(11)), false, 'nor one that never stood');
select is(t.refusal($$ select pgflow.ack_fence(pg_temp.id(2), pg_temp.id(19)) $$), '23503 fence_acks_generation_fkey', 'who acknowledges has beaten before');
select is(t.refusal($$ select pgflow.supervisor_heartbeat(pg_temp.id(11), 'n', 'h', 1, null) $$), '22023 pgflow_argument_invalid', 'NULL is refused');

update pgflow.supervisors set last_seen_at = clock_timestamp() - interval '25 hours' where pid = 11;
select pg_temp.beat(14, array['a']) \g /dev/null
select is((select string_agg(pid::text, ' ' order by pid) from pgflow.supervisors), '12 13 14', 'rows of supervisors long gone go when another starts');

select * from finish();
rollback;
