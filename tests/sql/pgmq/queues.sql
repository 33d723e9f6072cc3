-- A queue is created, listed, measured and dropped as PGMQ 1.6 does it.
begin;
select plan(33);

select lives_ok($$ select pgmq.create('Orders') $$, 'a queue is created');
select lives_ok($$ select pgmq.create('Orders') $$, 'creating it again is a no-op');
select has_table('pgmq', 'q_orders', 'the table has the lower case name');
select has_table('pgmq', 'a_orders', 'so has the archive');
select has_sequence('pgmq', 'q_orders_msg_id_seq', 'the sequence has its PGMQ name');
select has_index('pgmq', 'a_orders', 'archived_at_idx_Orders', 'the archive index keeps the spelling');
select columns_are('pgmq', 'q_orders', array['msg_id', 'read_ct', 'enqueued_at', 'vt', 'message', 'headers']);
select columns_are('pgmq', 'a_orders', array[
  'msg_id', 'read_ct', 'enqueued_at', 'archived_at', 'vt', 'message', 'headers'
]);
select col_is_pk('pgmq', 'q_orders', 'msg_id', 'msg_id is the key');
select throws_ok($$ insert into pgmq.q_orders (msg_id, vt) values (1, now()) $$, '428C9', null, 'and always generated');
select results_eq(
  $$ select queue_name::text, is_partitioned, is_unlogged from pgmq.list_queues() $$,
  $$ values ('Orders', false, false) $$, 'it is listed once, as it was spelled'
);
select results_eq(
  $$ select queue_name, queue_length, newest_msg_age_sec, oldest_msg_age_sec, total_messages, queue_visible_length
       from pgmq.metrics('Orders') $$,
  $$ values ('Orders', 0::bigint, null::int, null::int, 0::bigint, 0::bigint) $$, 'an empty queue measures zero'
);
select pgmq.send('orders', '1'), pgmq.send('orders', '2', 100);
select results_eq(
  $$ select queue_length, newest_msg_age_sec, total_messages, queue_visible_length from pgmq.metrics_all() $$,
  $$ values (2::bigint, 0, 2::bigint, 1::bigint) $$, 'delayed messages count, but are not visible'
);
select is(pgmq.purge_queue('Orders'), 2::bigint, 'purge tells how many it removed');
select is_empty($$ select from pgmq.q_orders $$, 'and leaves nothing');

select is(pgmq.drop_queue('orders'), false, 'another spelling drops nothing');
select has_table('pgmq', 'q_orders', 'the table is still there');
select is(pgmq.drop_queue('Orders'), true, 'the listed spelling drops');
select hasnt_table('pgmq', 'q_orders', 'the queue');
select hasnt_table('pgmq', 'a_orders', 'and the archive');
select is(pgmq.drop_queue('Orders'), false, 'dropping an absent queue is false');

select pgmq.create('Both'), pgmq.create('both');
select is((select count(*)::int from pgmq.list_queues()), 2, 'two spellings are two listed names of one table');
select is(pgmq.drop_queue('both', false), true, 'the deprecated form drops too');
select is((select string_agg(queue_name, ',') from pgmq.list_queues()), 'Both', 'one spelling stays listed');

select pgmq.create_unlogged('fast');
select is((select is_unlogged from pgmq.list_queues() where queue_name = 'fast'), true, 'an unlogged queue says so');
select is((select relpersistence::text from pg_class where oid = 'pgmq.q_fast'::regclass), 'u', 'and is unlogged');
select lives_ok($$ select pgmq.create_non_partitioned('plain') $$, 'create_non_partitioned is create');
select throws_ok($$ select pgmq.create_partitioned('parts') $$, '0A000', null, 'partitions need the extension');

select lives_ok(format('select pgmq.create(%L)', repeat('x', 47)), '47 characters fit');
select throws_ok(
  format('select pgmq.create(%L)', repeat('x', 48)),
  'queue name is too long, maximum length is 47 characters', '48 do not'
);
select is(pgmq.format_table_name('INVOICE', 'q'), 'q_invoice', 'a table name is lower case');
select throws_like(format('select pgmq.format_table_name(%L, %L)', bad, 'q'), '%invalid characters%', bad || ' is refused')
  from unnest(array['a$b']) bad;
select is(pgmq._fallback_version(), 1, 'the schema says that it is ours');

select * from finish();
rollback;
