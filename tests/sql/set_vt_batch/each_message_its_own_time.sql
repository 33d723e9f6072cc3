-- set_vt_batch gives each message its own time in one statement.
begin;
select plan(11);
select pgflow.create_flow('q') \g /dev/null
select pgmq.send_batch('q', array['1', '2', '3']::jsonb[]) \g /dev/null

select results_eq(
  $$ select msg_id, message, round(extract(epoch from vt - clock_timestamp())) from pgflow.set_vt_batch('Q', array[1, 3, 99], array[10, 60, 5]) order by 1 $$,
  $$ values (1::bigint, '1'::jsonb, 10::numeric), (3, '3', 60) $$, 'the rows found come back, unknown ids do not'
);
select ok((select vt <= clock_timestamp() from pgmq.q_q where msg_id = 2), 'others are left alone');
select is((select count(*) from pgflow.set_vt_batch('q', array[1], array[0])), 1::bigint, 'a message can be shown at once');
select is_empty($$ select pgflow.set_vt_batch('q', '{}', '{}') $$, 'empty lists change nothing');
select is_empty($$ select pgflow.set_vt_batch('q', null, array[1]) $$, 'nor do NULL ones');
select throws_ok(
  $$ select pgflow.set_vt_batch('q', array[1, 2], array[1]) $$, 'msg_ids length (2) must equal vt_offsets length (1)',
  'lists of different lengths are refused'
);
select throws_ok(
  $$ select pgflow.set_vt_batch('q', array[[1, 2]], array[[1, 2]]) $$, '22023', 'pgflow.set_vt_batch(): vt_offsets must be numbers of seconds.',
  'a list of lists is refused'
);
select throws_ok($$ select pgflow.set_vt_batch('q', array[1], array[null::int]) $$, '22023', null, 'and so is NULL');
select throws_ok($$ select pgflow.set_vt_batch('nope', array[1], array[1]) $$, '42P01', null, 'and so is an unknown queue');
select is_empty($$ select pgflow.set_vt_batch('q', array[99], array[1]) $$, 'nothing found is no row');
select is((select read_ct from pgmq.q_q where msg_id = 1), 0, 'it counts as no reading');

select * from finish();
rollback;
