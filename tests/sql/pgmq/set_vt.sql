-- pgmq.set_vt: one message or several are visible again vt seconds from now.
begin;
select plan(8);
select pgmq.create('work');
select pgmq.send_batch('work', array['1', '2', '3']::jsonb[]);

select results_eq(
  $$ select msg_id, read_ct, message, vt - clock_timestamp() between interval '58 s' and interval '60 s' from pgmq.set_vt('work', 1, 60) $$,
  $$ values (1::bigint, 0, '1'::jsonb, true) $$, 'the row as it is now'
);
select is((select count(*)::int from pgmq.q_work where vt > clock_timestamp()), 1, 'only that message is hidden');
select is_empty($$ select from pgmq.set_vt('work', 999, 0) $$, 'an unknown id returns nothing');
select set_eq(
  $$ select msg_id, vt > clock_timestamp() + interval '58 s' from pgmq.set_vt('WORK', array[2, 3, 999], 60) $$,
  $$ values (2::bigint, true), (3, true) $$, 'several at once, unknown ones left out'
);
select is_empty($$ select from pgmq.set_vt('work', array[]::bigint[], 60) $$, 'none at once');
select set_eq($$ select msg_id from pgmq.set_vt(queue_name => 'work', msg_ids => array[1, 3], vt => 0) $$, $$ values (1::bigint), (3) $$,
  '0 shows them');
select set_eq($$ select msg_id from pgmq.read('work', 0, 9) $$, $$ values (1::bigint), (3) $$, 'so that they are read');
select throws_ok($$ select pgmq.set_vt('absent', 1, 0) $$, '42P01', null, 'an absent queue has none');

select * from finish();
rollback;
