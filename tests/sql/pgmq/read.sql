-- pgmq.read: leases the visible messages with the smallest ids; a condition filters by containment.
begin;
select plan(14);
select pgmq.create('work');
select pgmq.send_batch('work', array['"a"', '"b"', '"c"', '"d"']::jsonb[]);
select pgmq.send('work', '"later"', 60);

select set_eq(
  $$ select msg_id, read_ct, message, headers, vt - clock_timestamp() between interval '28 s' and interval '30 s'
       from pgmq.read('work', 30, 2) $$,
  $$ values (1::bigint, 1, '"a"'::jsonb, null::jsonb, true), (2, 1, '"b"', null, true) $$,
  'the smallest ids first, leased for vt seconds'
);
select results_eq(
  $$ select msg_id, read_ct, vt > clock_timestamp() from pgmq.q_work where msg_id < 4 order by 1 $$,
  $$ values (1::bigint, 1, true), (2, 1, true), (3, 0, false) $$, 'the lease is stored'
);
select set_eq($$ select msg_id from pgmq.read('WORK', 30, 100) $$, $$ values (3::bigint), (4) $$,
  'leased and delayed messages are not read');
select is_empty($$ select from pgmq.read('work', 30, 100) $$, 'nothing is left');
select is_empty($$ select from pgmq.read('work', 30, 0) $$, 'no message was asked for');
select pgmq.set_vt('work', 2, 0);
select set_eq($$ select msg_id, read_ct from pgmq.read('work', 0, 100) $$, $$ values (2::bigint, 2) $$, 'each read counts');
select set_eq($$ select msg_id, read_ct from pgmq.read('work', 30, 100) $$, $$ values (2::bigint, 3) $$,
  'leased for 0 seconds, it is visible at once');

select pgmq.send_batch('work', array['{"kind": "mail", "to": 1}', '{"kind": "call"}', '["mail"]']::jsonb[]);
select is_empty($$ select from pgmq.read('work', 30, 100, '{"kind": "fax"}') $$, 'no message contains this');
select set_eq($$ select msg_id from pgmq.read('work', 30, 100, conditional => '{"kind": "mail"}') $$, $$ values (6::bigint) $$,
  'a condition finds what contains it');
select is((select vt <= clock_timestamp() from pgmq.q_work where msg_id = 7), true, 'and leases nothing else');
select set_eq($$ select msg_id from pgmq.read('work', 30, 100, '["mail"]') $$, $$ values (8::bigint) $$, 'any JSON value may be one');
select set_eq($$ select msg_id from pgmq.read('work', 30, 100, '{}') $$, $$ values (7::bigint) $$, 'an empty object is no condition');
select is((select count(*)::int from pgmq.q_work), 8, 'reading removes nothing');
select throws_ok($$ select pgmq.read('absent', 1, 1) $$, '42P01', null, 'an absent queue cannot be read');

select * from finish();
rollback;
