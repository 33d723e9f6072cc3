-- pgmq.format_table_name and pgmq.validate_queue_name: what a queue may be called and which table it has.
begin;
select plan(11);

select is(pgmq.format_table_name('INVOICE', 'q'), 'q_invoice', 'a table name is lower case');
select is(pgmq.format_table_name('a b-c', 'a'), 'a_a b-c', 'and otherwise what was given');
select throws_like(format('select pgmq.format_table_name(%L, %L)', bad, 'q'), '%invalid characters%', bad || ' is refused')
  from unnest(array['a$b', 'a;b', 'a--b', 'a''b']) bad;
select lives_ok($$ select pgmq.format_table_name('a-b', 'q') $$, 'one dash is fine');
select lives_ok(format('select pgmq.validate_queue_name(%L)', repeat('x', 47)), '47 characters fit');
select throws_ok(
  format('select pgmq.validate_queue_name(%L)', repeat('x', 48)), 'queue name is too long, maximum length is 47 characters', '48 do not'
);
select lives_ok($$ select pgmq.validate_queue_name('') $$, 'no lower limit is set');
select is(pgmq._fallback_version(), 1, 'the schema says that it is ours');

select * from finish();
rollback;
