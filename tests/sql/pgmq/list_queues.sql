-- pgmq.list_queues: every queue as it was spelled, with its kind.
begin;
select plan(2);
select is_empty($$ select from pgmq.list_queues() $$, 'no queue, no row');
select pgmq.create('Orders'), pgmq.create_unlogged('fast');
select results_eq(
  $$ select queue_name::text, is_partitioned, is_unlogged, created_at = now() from pgmq.list_queues() order by queue_name collate "C" $$,
  $$ values ('Orders', false, false, true), ('fast', false, true, true) $$, 'the spelling is kept'
);
select * from finish();
rollback;
