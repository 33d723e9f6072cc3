-- pgmq.send: six forms, one message each; it is visible now, after seconds, or from a time on.
begin;
select plan(8);
select pgmq.create('work');

select is(pgmq.send('work', '{"n": 1}'), 1::bigint, 'ids start at 1');
select is(pgmq.send('WORK', '{"n": 2}', '{"h": 2}'::jsonb), 2::bigint, 'any spelling reaches the queue');
select is(pgmq.send('work', '{"n": 3}', 60), 3::bigint, 'a delay in seconds');
select is(pgmq.send('work', '{"n": 4}', now() + interval '1 hour'), 4::bigint, 'a delay until a time');
select is(pgmq.send('work', '{"n": 5}', '{"h": 5}', 60), 5::bigint, 'headers and seconds');
select is(
  pgmq.send(queue_name => 'work', msg => '{"n": 6}', headers => '{"h": 6}', delay => now() + interval '1 hour'),
  6::bigint, 'headers and a time'
);
select results_eq(
  $$ select msg_id, read_ct, message->'n', headers, enqueued_at = now(),
       case when vt <= clock_timestamp() then 'now' when vt < clock_timestamp() + interval '61 s' then '60 s' else 'hour' end
     from pgmq.q_work order by msg_id $$,
  $$ values (1::bigint, 0, '1'::jsonb, null::jsonb, true, 'now'), (2, 0, '2', '{"h": 2}', true, 'now'),
            (3, 0, '3', null, true, '60 s'), (4, 0, '4', null, true, 'hour'),
            (5, 0, '5', '{"h": 5}', true, '60 s'), (6, 0, '6', '{"h": 6}', true, 'hour') $$,
  'each stored what it was given'
);
select throws_ok($$ select pgmq.send('absent', '1') $$, '42P01', null, 'an absent queue takes nothing');

select * from finish();
rollback;
