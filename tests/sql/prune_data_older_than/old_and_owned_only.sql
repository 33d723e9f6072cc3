-- The shipped pruning helper removes old ended runs, old archive rows and silent workers, and nothing of a foreign queue.
\ir ../support.psql
\ir ../../../sql/operator/prune_data_older_than.sql
select plan(23);
select pgflow.ensure_flow_compiled('stepped', shape('a'), 'step');
select pgflow.ensure_flow_compiled('plain', shape('a'), 'flow');
select pgflow.ensure_flow_compiled('gone', shape('a'), 'step');
select pgmq.create('stepped');

-- Each flow has an old completed, an old failed, a young completed and an old active run.
create function tap.fill() returns void language sql as $$
  insert into pgflow.runs (flow_slug, input, status, started_at, completed_at, failed_at)
    select f, '1', status, now() - interval '9 days', now() - completed, now() - failed
      from unnest('{stepped,plain,gone}'::text[]) f, (values
        ('completed', interval '8 days', null::interval), ('failed', null, interval '8 days'),
        ('completed', interval '1 day', null), ('started', null, null)) s (status, completed, failed);
  insert into pgflow.step_states (flow_slug, run_id, step_slug) select flow_slug, run_id, 'a' from pgflow.runs;
  insert into pgflow.step_tasks (flow_slug, run_id, step_slug, queue_name, message_id)
    select flow_slug, run_id, 'a', case flow_slug when 'plain' then 'plain' else flow_slug || '__a' end,
      pgmq.send(case flow_slug when 'plain' then 'plain' else flow_slug || '__a' end, to_jsonb(run_id))
    from pgflow.runs;
  insert into pgflow.workers (worker_id, queue_name, function_name, last_heartbeat_at)
    values (gen_random_uuid(), 'plain', 'old', now() - interval '8 days'), (gen_random_uuid(), 'plain', 'young', now());
  insert into pgmq.a_stepped__a (msg_id, vt, archived_at) values (901, now(), now() - interval '8 days'), (902, now(), now());
  insert into pgmq.a_plain (msg_id, vt, archived_at) values (901, now(), now() - interval '8 days'), (902, now(), now());
  insert into pgmq.a_stepped (msg_id, vt, archived_at) values (901, now(), now() - interval '8 days');
$$;
create function tap.left_over() returns text language sql as $$
  select format('runs %s, states %s, tasks %s, messages %s %s, archived %s %s %s, workers %s',
    (select string_agg(flow_slug || ':' || status, ' ' order by flow_slug, status) from pgflow.runs),
    (select count(*) from pgflow.step_states), (select count(*) from pgflow.step_tasks),
    (select count(*) from pgmq.q_stepped__a), (select count(*) from pgmq.q_plain),
    (select count(*) from pgmq.a_stepped__a), (select count(*) from pgmq.a_plain), (select count(*) from pgmq.a_stepped),
    (select string_agg(function_name, ' ') from pgflow.workers))
$$;
\set pruned '''runs gone:completed gone:started plain:completed plain:started stepped:completed stepped:started, states 6, tasks 6, messages 2 2, archived 1 1 1, workers young'''

-- A19: a queue of the default name beside a step flow is foreign.
select fill();
select is((select count(*)::int from pgflow.runs), 12, 'there are twelve runs');
select pgmq.drop_queue('gone__a');
select lives_ok($$ select pgflow.prune_data_older_than(interval '7 days') $$, 'pruning survives an absent queue');
select is(left_over(), :pruned, 'young, active and foreign rows stay');
select lives_ok($$ select pgflow.prune_data_older_than(interval '7 days') $$, 'again');
select is(left_over(), :pruned, 'changes nothing');
select is((select count(*)::int from pgflow.steps), 3, 'definitions stay');
select is((select count(*)::int from pgflow.step_tasks t where not exists (select from pgflow.runs r where r.run_id = t.run_id)), 0, 'no orphans');

-- In chunks, outside a transaction.
truncate pgflow.runs, pgflow.step_states, pgflow.step_tasks, pgflow.workers;
truncate pgmq.q_plain, pgmq.q_stepped__a, pgmq.a_plain, pgmq.a_stepped__a, pgmq.a_stepped;
select pgmq.create('gone__a');
select fill();
select pgmq.drop_queue('gone__a');
call pgflow.prune_data(interval '7 days', 1);
select is(left_over(), :pruned, 'one run at a time removes the same');
call pgflow.prune_data(interval '7 days');
select is(left_over(), :pruned, 'and is done');
select lives_ok($$ select pgflow.prune_data_older_than(interval '0') $$, 'no retention');
select matches(left_over(), '^runs gone:started plain:started stepped:started,', 'keeps active runs only');
select is((select count(*)::int from pgmq.q_plain), 1, 'with their messages');
select is((select count(*)::int from pgmq.a_stepped), 1, 'the foreign archive is as it was');
-- Without retention too, a worker that is alive stays: it may hold tasks.
select is((select string_agg(function_name, ' ') from pgflow.workers), 'young', 'and the live worker');
update pgflow.workers set last_heartbeat_at = now() - interval '61 seconds';
select pgflow.prune_data_older_than('0') \g /dev/null
select is((select count(*)::int from pgflow.workers), 0, 'one that is silent goes');
insert into pgflow.workers (worker_id, queue_name, function_name, stopped_at) values (gen_random_uuid(), 'plain', 'done', now());
select pgflow.prune_data_older_than('0') \g /dev/null
select is((select count(*)::int from pgflow.workers), 0, 'one that has stopped goes');

-- An operator may call the parts with the owner's rights, but for queues of flows only.
select is(pgflow._prune_archive('stepped', 'infinity', 10), 0, 'a foreign queue''s archive is nobody''s to prune');
select is((select count(*)::int from pgmq.a_stepped), 1, 'and stays');

select is(error_of(format('call pgflow.prune_data(''1 day'', %s)', size)) - '{message,detail,hint}'::text[],
  '{"sqlstate": "22023", "kind": "batch_size"}', 'a chunk of ' || size) from unnest(array['0', '-1', 'null']) size;
select matches(error_of('call pgflow.prune_data(''1 day'', null)') ->> 'message', 'A chunk of NULL rows', 'says which');
select has_function('pgflow', 'prune_data_older_than', array['interval'], 'the name is upstream''s');
select * from finish();
