-- pgmq.drop_queue: drops what exactly this spelling created; what is not listed is no error.
begin;
select plan(12);
select pgmq.create('Orders');

select is(pgmq.drop_queue('orders'), false, 'another spelling drops nothing');
select has_table('pgmq', 'q_orders', 'the table is still there');
select is(pgmq.drop_queue('Orders'), true, 'the listed spelling drops');
select hasnt_table('pgmq', 'q_orders', 'the queue');
select hasnt_table('pgmq', 'a_orders', 'and the archive');
select is_empty($$ select from pgmq.list_queues() $$, 'it is not listed any more');
select is(pgmq.drop_queue('Orders'), false, 'dropping an absent queue is false');

select pgmq.create('Both'), pgmq.create('both');
select is(pgmq.drop_queue('both', false), true, 'the deprecated form drops too');
select is((select string_agg(queue_name, ',') from pgmq.list_queues()), 'Both', 'the other spelling stays listed');
select hasnt_table('pgmq', 'q_both', 'although the table was the same');
select is(pgmq.drop_queue('Both'), true, 'and can be dropped still');
select is_empty($$ select from pgmq.list_queues() $$, 'after which nothing is listed');

select * from finish();
rollback;
