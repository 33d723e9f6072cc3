-- next_visible_at tells when a queue has a message to read.
begin;
select plan(7);

select pgflow.create_flow('Q') \g /dev/null
select pgmq.create('private') \g /dev/null
select throws_ok($$ select pgflow.next_visible_at('private') $$, '42P01', 'No flow has a queue "private".', 'a queue of no flow is out of reach');
select is(pgflow.next_visible_at('q'), null, 'an empty queue has none');
select pgmq.send('q', '1', 60) \g /dev/null
select pgmq.send('q', '2', 30) \g /dev/null
select ok(pgflow.next_visible_at('q') between clock_timestamp() + interval '29 s' and clock_timestamp() + interval '30 s', 'the first of the delayed ones');
select pgmq.send('q', '3') \g /dev/null
select ok(pgflow.next_visible_at('Q') <= clock_timestamp(), 'one that is visible now');
select pgmq.read('q', 10, 10) \g /dev/null
select ok(pgflow.next_visible_at('q') between clock_timestamp() + interval '9 s' and clock_timestamp() + interval '10 s', 'one in hand comes back as well');
select pgmq.purge_queue('q') \g /dev/null
select is(pgflow.next_visible_at('q'), null, 'purged, it has none');
select throws_ok($$ select pgflow.next_visible_at('nobody') $$, '42P01', null, 'an unknown queue is refused');

select * from finish();
rollback;
