-- pgmq.metrics and pgmq.metrics_all: lengths, ages and the number of messages ever sent.
begin;
select plan(6);
select pgmq.create('Orders'), pgmq.create('other');

select results_eq(
  $$ select queue_name, queue_length, newest_msg_age_sec, oldest_msg_age_sec, total_messages, scrape_time = now(),
       queue_visible_length from pgmq.metrics('Orders') $$,
  $$ values ('Orders', 0::bigint, null::int, null::int, 0::bigint, true, 0::bigint) $$, 'an empty queue measures zero'
);
select pgmq.send('orders', '1'), pgmq.send('orders', '2', 100), pgmq.send('orders', '3');
update pgmq.q_orders set enqueued_at = now() - interval '90 s' where msg_id = 1;
select pgmq.archive('orders', 3);
select results_eq(
  $$ select queue_length, newest_msg_age_sec, oldest_msg_age_sec, total_messages, queue_visible_length from pgmq.metrics('orders') $$,
  $$ values (2::bigint, 0, 90, 3::bigint, 1::bigint) $$, 'delayed messages count, but are not visible'
);
select results_eq(
  $$ select queue_name, total_messages from pgmq.metrics_all() order by queue_name collate "C" $$,
  $$ values ('Orders', 3::bigint), ('other', 0) $$, 'all listed queues'
);
select throws_ok($$ select pgmq.metrics('absent') $$, '42P01', null, 'an absent queue has none');
select pgmq.drop_queue('Orders');
select results_eq($$ select queue_name from pgmq.metrics_all() $$, $$ values ('other') $$, 'a dropped queue is out');
select pgmq.drop_queue('other');
select is_empty($$ select from pgmq.metrics_all() $$, 'no queue, no row');

select * from finish();
rollback;
