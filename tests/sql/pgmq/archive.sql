-- pgmq.archive: moves messages to the archive, and tells which were there.
begin;
select plan(8);
select pgmq.create('work');
select pgmq.send_batch('work', array['"a"', '"b"', '"c"']::jsonb[], array['{"h": 1}', null, null]::jsonb[]);
select pgmq.read('work', 30, 1);

select is(pgmq.archive('work', 1), true, 'one');
select is(pgmq.archive('work', 1), false, 'once');
select set_eq($$ select pgmq.archive('WORK', array[2, 999, 3]) $$, $$ values (2::bigint), (3) $$, 'several, absent ids ignored');
select is_empty($$ select pgmq.archive('work', array[]::bigint[]) $$, 'none');
select is_empty($$ select from pgmq.q_work $$, 'the queue has them no longer');
select results_eq(
  $$ select msg_id, read_ct, message, headers, enqueued_at = now(), archived_at = now(), vt is not null from pgmq.a_work order by 1 $$,
  $$ values (1::bigint, 1, '"a"'::jsonb, '{"h": 1}'::jsonb, true, true, true), (2, 0, '"b"', null, true, true, true),
            (3, 0, '"c"', null, true, true, true) $$,
  'the archive keeps all of them, and when they came'
);
select is(pgmq.send('work', '1'), 4::bigint, 'ids go on');
select throws_ok($$ select pgmq.archive('absent', 1) $$, '42P01', null, 'an absent queue has no archive');

select * from finish();
rollback;
