-- pgmq.create and its kin: tables with the lower case name, one listed row for each spelling, and no error when it exists.
begin;
select plan(29);

select lives_ok($$ select pgmq.create('Orders') $$, 'a queue is created');
select pgmq.send('orders', '1');
select lives_ok($$ select pgmq.create('Orders') $$, 'creating it again is a no-op');
select is((select count(*)::int from pgmq.q_orders), 1, 'that keeps its messages');
select is((select count(*)::int from pgmq.list_queues()), 1, 'and its one row');
select has_table('pgmq', 'q_orders', 'the table has the lower case name');
select has_table('pgmq', 'a_orders', 'so has the archive');
select has_sequence('pgmq', 'q_orders_msg_id_seq', 'the sequence has its PGMQ name');
select has_index('pgmq', 'a_orders', 'archived_at_idx_Orders', 'the archive index keeps the spelling');
select is(
  (select string_agg(format('%s %s%s%s', a.attname, format_type(a.atttypid, a.atttypmod), case when a.attnotnull then ' not null' else '' end,
       coalesce(' ' || pg_get_expr(d.adbin, d.adrelid), '')), ', ' order by a.attnum)
     from pg_attribute a left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
     where a.attrelid = 'pgmq.q_orders'::regclass and a.attnum > 0),
  'msg_id bigint not null, read_ct integer not null 0, enqueued_at timestamp with time zone not null now(), '
    'vt timestamp with time zone not null, message jsonb, headers jsonb',
  'the columns of a queue'
);
select is(
  (select string_agg(format('%s %s%s%s', a.attname, format_type(a.atttypid, a.atttypmod), case when a.attnotnull then ' not null' else '' end,
       coalesce(' ' || pg_get_expr(d.adbin, d.adrelid), '')), ', ' order by a.attnum)
     from pg_attribute a left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
     where a.attrelid = 'pgmq.a_orders'::regclass and a.attnum > 0),
  'msg_id bigint not null, read_ct integer not null 0, enqueued_at timestamp with time zone not null now(), '
    'archived_at timestamp with time zone not null now(), vt timestamp with time zone not null, message jsonb, headers jsonb',
  'the columns of an archive'
);
select col_is_pk('pgmq', 'q_orders', 'msg_id', 'msg_id is the key');
select col_is_pk('pgmq', 'a_orders', 'msg_id', 'of both');
select throws_ok($$ insert into pgmq.q_orders (msg_id, vt) values (1, now()) $$, '428C9', null, 'and always generated');

-- Two spellings of one name.
select lives_ok($$ select pgmq.create('orders') $$, 'another spelling is another listed name');
select results_eq($$ select queue_name::text from pgmq.list_queues() order by queue_name collate "C" $$, $$ values ('Orders'), ('orders') $$,
  'of the one table');
select is((select count(*)::int from pgmq.q_orders), 1, 'whose messages stay');

select pgmq.create_unlogged('fast');
select is((select relpersistence::text from pg_class where oid = 'pgmq.q_fast'::regclass), 'u', 'an unlogged queue is unlogged');
select is((select relpersistence::text from pg_class where oid = 'pgmq.a_fast'::regclass), 'p', 'its archive is not');
select is((select is_unlogged from pgmq.list_queues() where queue_name = 'fast'), true, 'and it is listed so');
select lives_ok($$ select pgmq.create_non_partitioned('plain') $$, 'create_non_partitioned is create');
select has_table('pgmq', 'q_plain', 'with the same table');
select throws_ok($$ select pgmq.create_partitioned('parts') $$, '0A000', null, 'partitions need the extension');
select throws_ok($$ select pgmq.create_partitioned('parts', '1 day', '7 days') $$, '0A000', null, 'whatever they are by');
select hasnt_table('pgmq', 'q_parts', 'nothing is created then');

select lives_ok(format('select pgmq.create(%L)', repeat('x', 47)), '47 characters fit');
select throws_ok(
  format('select pgmq.create(%L)', repeat('x', 48)),
  'queue name is too long, maximum length is 47 characters', '48 do not'
);
select throws_like($$ select pgmq.create('a;b') $$, '%invalid characters%', 'nor do characters that SQL minds');
select is_empty($$ select from pg_class where relname like '%a;b%' $$, 'and leave nothing');
select is((select count(*)::int from pgmq.list_queues() where queue_name in ('parts', 'a;b', repeat('x', 48))), 0, 'listed');

select * from finish();
rollback;
