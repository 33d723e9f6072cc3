-- Messages are sent, leased, delayed, archived and deleted as PGMQ 1.6 does it.
begin;
select plan(44);
select pgmq.create('work');

-- All forms of send.
select is(pgmq.send('work', '{"n": 1}'), 1::bigint, 'ids start at 1');
select is(pgmq.send('WORK', '{"n": 2}', '{"h": 2}'::jsonb), 2::bigint, 'any spelling reaches the queue');
select is(pgmq.send('work', '{"n": 3}', 60), 3::bigint, 'a delay in seconds');
select is(pgmq.send('work', '{"n": 4}', now() + interval '1 hour'), 4::bigint, 'a delay until a time');
select is(pgmq.send('work', '{"n": 5}', '{"h": 5}', 60), 5::bigint, 'headers and seconds');
select is(pgmq.send('work', '{"n": 6}', '{"h": 6}', now() + interval '1 hour'), 6::bigint, 'headers and a time');
select results_eq(
  $$ select msg_id, message->'n', headers, vt > clock_timestamp() from pgmq.q_work order by msg_id $$,
  $$ values (1::bigint, '1'::jsonb, null::jsonb, false), (2, '2', '{"h": 2}', false), (3, '3', null, true),
            (4, '4', null, true), (5, '5', '{"h": 5}', true), (6, '6', '{"h": 6}', true) $$,
  'each stored what it was given'
);
select is(pgmq.purge_queue('work'), 6::bigint, 'six messages were there');

-- All forms of send_batch.
select results_eq(
  $$ select pgmq.send_batch('work', array['"a"', '"b"', '"c"']::jsonb[]) $$, $$ values (7::bigint), (8), (9) $$,
  'ids come in the order of the messages'
);
select is((select string_agg(message::text, '' order by msg_id) from pgmq.q_work), '"a""b""c"', 'which is kept');
select is_empty($$ select pgmq.send_batch('work', array[]::jsonb[]) $$, 'an empty batch sends nothing');
select is_empty($$ select pgmq.send_batch('work', null::jsonb[]) $$, 'nor does no batch');
select results_eq(
  $$ select pgmq.send_batch('work', array['1', '2']::jsonb[], array['{"h": 1}', null]::jsonb[]) $$,
  $$ values (10::bigint), (11) $$, 'headers go with their message'
);
select is((select headers from pgmq.q_work where msg_id = 10), '{"h": 1}'::jsonb, 'the first has headers');
select is((select headers from pgmq.q_work where msg_id = 11), null, 'the second has none');
select throws_ok(
  $$ select pgmq.send_batch('work', array['1', '2']::jsonb[], array['{}']::jsonb[]) $$,
  'headers length (1) must equal msgs length (2)', 'lists of different lengths are refused'
);
select results_eq($$ select pgmq.send_batch('work', array['1']::jsonb[], 60) $$, $$ values (12::bigint) $$, 'seconds');
select results_eq(
  $$ select pgmq.send_batch('work', array['1']::jsonb[], now() + interval '1 hour') $$, $$ values (13::bigint) $$, 'a time'
);
select results_eq(
  $$ select pgmq.send_batch('work', array['1']::jsonb[], array['{}']::jsonb[], 60) $$, $$ values (14::bigint) $$,
  'headers and seconds'
);
select results_eq(
  $$ select pgmq.send_batch('work', array['1']::jsonb[], array['{}']::jsonb[], now() + interval '1 hour') $$,
  $$ values (15::bigint) $$, 'headers and a time'
);

-- Leases.
select set_eq(
  $$ select msg_id, read_ct from pgmq.read('work', 30, 2) $$, $$ values (7::bigint, 1), (8, 1) $$, 'the smallest ids first'
);
select ok(
  (select bool_and(vt - clock_timestamp() between interval '28 seconds' and interval '30 seconds') from pgmq.q_work where msg_id in (7, 8)),
  'leased for vt seconds'
);
select set_eq(
  $$ select msg_id from pgmq.read('work', 30, 100) $$, $$ values (9::bigint), (10), (11) $$,
  'leased and delayed messages are not read'
);
select is_empty($$ select from pgmq.read('work', 30, 100) $$, 'nothing is left');
select set_eq($$ select msg_id, message from pgmq.set_vt('work', 8, 0) $$, $$ values (8::bigint, '"b"'::jsonb) $$, 'set_vt returns the row');
select set_eq($$ select msg_id, read_ct from pgmq.read('work', 0, 100) $$, $$ values (8::bigint, 2) $$, 'set_vt 0 shows it again');
select is_empty($$ select from pgmq.set_vt('work', 999, 0) $$, 'an unknown id returns nothing');
select is_empty($$ select from pgmq.read('work', 30, 100, '{"kind": "mail"}') $$, 'a condition filters by containment');
select pgmq.send('work', '{"kind": "mail", "to": 1}');
select set_eq(
  $$ select message from pgmq.read('work', 30, 100, '{"kind": "mail"}') $$, $$ values ('{"kind": "mail", "to": 1}'::jsonb) $$,
  'and finds what matches'
);
select is_empty($$ select from pgmq.read_with_poll('work', 30, 1, 0) $$, 'polling for 0 seconds reads nothing');
select set_eq($$ select msg_id from pgmq.read_with_poll('work', 30, 1, 1, 10) $$, $$ values (8::bigint) $$, 'polling returns at once when there is something');
select is_empty($$ select from pgmq.read_with_poll('work', 30, 1, 1, 10) $$, 'and gives up after its time');

-- Ends.
select is(pgmq.archive('work', 7), true, 'archive one');
select is(pgmq.archive('work', 7), false, 'once');
select set_eq($$ select pgmq.archive('work', array[8, 9, 999]) $$, $$ values (8::bigint), (9) $$, 'archive many skips absent ids');
select results_eq(
  $$ select msg_id, read_ct, message from pgmq.a_work order by msg_id $$,
  $$ values (7::bigint, 1, '"a"'::jsonb), (8, 3, '"b"'), (9, 1, '"c"') $$, 'the archive keeps the message'
);
select is(pgmq.delete('work', 10), true, 'delete one');
select is(pgmq.delete('work', 10), false, 'once');
select set_eq($$ select pgmq.delete('work', array[11, 999]) $$, $$ values (11::bigint) $$, 'delete many');
select is_empty($$ select from pgmq.pop('work') $$, 'pop takes no delayed message');
select pgmq.send('work', '"next"');
select set_eq($$ select message from pgmq.pop('work') $$, $$ values ('"next"'::jsonb) $$, 'pop takes the visible one');
select is_empty($$ select from pgmq.q_work where message = '"next"' $$, 'out of the queue');
select throws_ok($$ select pgmq.send('absent', '1') $$, '42P01', null, 'sending to an absent queue fails');
select throws_ok($$ select pgmq.read('absent', 1, 1) $$, '42P01', null, 'so does reading');

select * from finish();
rollback;
