-- pgmq.detach_archive: accepted, and nothing happens: our archives belong to no extension.
begin;
select plan(2);
select pgmq.create('work');
select lives_ok($$ select pgmq.detach_archive('work') $$, 'it is there');
select has_table('pgmq', 'a_work', 'and leaves the archive');
select * from finish();
rollback;
