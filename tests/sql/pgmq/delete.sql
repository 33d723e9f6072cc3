-- pgmq.delete: removes messages, and tells which were there.
begin;
select plan(6);
select pgmq.create('work');
select pgmq.send_batch('work', array['1', '2', '3']::jsonb[]);

select is(pgmq.delete('work', 1), true, 'one');
select is(pgmq.delete('work', 1), false, 'once');
select set_eq($$ select pgmq.delete('WORK', array[2, 999]) $$, $$ values (2::bigint) $$, 'several, absent ids ignored');
select is_empty($$ select pgmq.delete('work', array[]::bigint[]) $$, 'none');
select results_eq($$ select msg_id from pgmq.q_work $$, $$ values (3::bigint) $$, 'the others stay');
select is_empty($$ select from pgmq.a_work $$, 'nothing is archived');

select * from finish();
rollback;
