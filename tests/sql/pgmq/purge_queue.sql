-- pgmq.purge_queue: empties a queue and tells how many messages it had.
begin;
select plan(5);
select pgmq.create('work');
select pgmq.send_batch('work', array['1', '2', '3']::jsonb[]), pgmq.archive('work', 1);

select is(pgmq.purge_queue('WORK'), 2::bigint, 'the rows before');
select is_empty($$ select from pgmq.q_work $$, 'the queue is empty');
select is((select count(*)::int from pgmq.a_work), 1, 'its archive is not touched');
select is(pgmq.purge_queue('work'), 0::bigint, 'an empty queue had none');
select is(pgmq.send('work', '1'), 4::bigint, 'ids go on');

select * from finish();
rollback;
