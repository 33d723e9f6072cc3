-- pgmq.send_batch: six forms; ids come in the order of the messages, and an empty batch sends nothing.
begin;
select plan(14);
select pgmq.create('work');

select results_eq(
  $$ select pgmq.send_batch('work', array['"a"', '"b"', '"c"']::jsonb[]) $$, $$ values (1::bigint), (2), (3) $$,
  'ids come in the order of the messages'
);
select is((select string_agg(message::text, '' order by msg_id) from pgmq.q_work), '"a""b""c"', 'which is kept');
select is_empty($$ select pgmq.send_batch('work', array[]::jsonb[]) $$, 'an empty batch sends nothing');
select is_empty($$ select pgmq.send_batch('work', null::jsonb[]) $$, 'nor does no batch');
select results_eq(
  $$ select pgmq.send_batch('work', array['1', '2']::jsonb[], array['{"h": 1}', null]::jsonb[]) $$,
  $$ values (4::bigint), (5) $$, 'headers go with their message'
);
select is((select headers from pgmq.q_work where msg_id = 4), '{"h": 1}'::jsonb, 'the first has headers');
select is((select headers from pgmq.q_work where msg_id = 5), null, 'the second has none');
select throws_ok(
  $$ select pgmq.send_batch('work', array['1', '2']::jsonb[], array['{}']::jsonb[]) $$,
  'headers length (1) must equal msgs length (2)', 'lists of different lengths are refused'
);
select results_eq($$ select pgmq.send_batch('work', array['1']::jsonb[], 60) $$, $$ values (6::bigint) $$, 'seconds');
select results_eq(
  $$ select pgmq.send_batch('work', array['1']::jsonb[], now() + interval '1 hour') $$, $$ values (7::bigint) $$, 'a time'
);
select results_eq(
  $$ select pgmq.send_batch('work', array['1']::jsonb[], array['{}']::jsonb[], 60) $$, $$ values (8::bigint) $$,
  'headers and seconds'
);
select results_eq(
  $$ select pgmq.send_batch(
       queue_name => 'WORK', msgs => array['1']::jsonb[], headers => array['{}']::jsonb[], delay => now() + interval '1 hour'
     ) $$,
  $$ values (9::bigint) $$, 'headers and a time'
);
select results_eq(
  $$ select msg_id, headers, vt > clock_timestamp() from pgmq.q_work where msg_id > 5 order by msg_id $$,
  $$ values (6::bigint, null::jsonb, true), (7, null, true), (8, '{}', true), (9, '{}', true) $$,
  'each stored what it was given'
);
select throws_ok($$ select pgmq.send_batch('absent', array['1']::jsonb[]) $$, '42P01', null, 'an absent queue takes nothing');

select * from finish();
rollback;
