-- pgmq.pop: takes the oldest visible messages out of the queue.
begin;
select plan(8);
select pgmq.create('work');
select pgmq.send('work', '"later"', 60);
select is_empty($$ select from pgmq.pop('work') $$, 'a delayed message is not taken');
select pgmq.send_batch('work', array['"a"', '"b"', '"c"', '"d"']::jsonb[]);

select results_eq($$ select msg_id, read_ct, message from pgmq.pop('work') $$, $$ values (2::bigint, 0, '"a"'::jsonb) $$, 'the oldest visible one');
select set_eq($$ select msg_id from pgmq.pop('WORK', 2) $$, $$ values (3::bigint), (4) $$, 'or so many');
select set_eq($$ select msg_id from pgmq.pop(queue_name => 'work', qty => 100) $$, $$ values (5::bigint) $$, 'as far as there are');
select is_empty($$ select from pgmq.pop('work') $$, 'nothing visible is left');
select results_eq($$ select msg_id from pgmq.q_work $$, $$ values (1::bigint) $$, 'they are out of the queue');
select is_empty($$ select from pgmq.a_work $$, 'and not archived');
select throws_ok($$ select pgmq.pop('absent') $$, '42P01', null, 'an absent queue has none');

select * from finish();
rollback;
