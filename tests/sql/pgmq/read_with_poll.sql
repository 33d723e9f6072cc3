-- pgmq.read_with_poll: reads again until something comes or its time is over.
begin;
select plan(7);
select pgmq.create('work');
select pgmq.send('work', '{"kind": "mail"}');

select is_empty($$ select from pgmq.read_with_poll('work', 30, 1, 0) $$, 'polling for 0 seconds returns nothing');
select is((select read_ct from pgmq.q_work), 0, 'and reads nothing');
select set_eq($$ select msg_id, read_ct from pgmq.read_with_poll('work', 30, 1) $$, $$ values (1::bigint, 1) $$,
  'five seconds are the default, and a message ends the wait');
select ok(clock_timestamp() - now() < interval '4 s', 'at once');
select is_empty($$ select from pgmq.read_with_poll('work', 30, 1, 1, 10) $$, 'it gives up after its time');
select pgmq.set_vt('work', 1, 0);
select is_empty($$ select from pgmq.read_with_poll('work', 30, 1, 1, 10, '{"kind": "call"}') $$, 'a condition filters');
select pgmq.set_vt('work', 1, 1);
select set_eq($$ select msg_id from pgmq.read_with_poll('work', 30, 1, 30, 10, '{"kind": "mail"}') $$, $$ values (1::bigint) $$,
  'a message that becomes visible meanwhile is found');

select * from finish();
rollback;
