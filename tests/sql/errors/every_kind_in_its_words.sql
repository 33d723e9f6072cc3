-- Every error of ours: its kind in the CONSTRAINT field, its SQLSTATE, MESSAGE, DETAIL and HINT.
\ir ../support.psql
begin;

-- The stage: a flow with a default queue, one with step queues, and queues that nobody asked for.
select pgflow.create_flow('plain') \g /dev/null
select pgflow.add_step('plain', 'a') \g /dev/null
select pgflow.add_step('plain', 'b', array['a']) \g /dev/null
select pgflow.create_flow('mapped') \g /dev/null
select pgflow.add_step('mapped', 'm', step_type => 'map') \g /dev/null
select pgflow.ensure_flow_compiled('Stepped', shape('a', 'b'), 'step') \g /dev/null
select pgflow.ensure_flow_compiled('Robbed', shape('a'), 'step') \g /dev/null
select pgmq.drop_queue('robbed__a') \g /dev/null
select pgflow.ensure_flow_compiled('Twice', shape('a'), 'step') \g /dev/null
select pgmq.create('Twice__A') \g /dev/null
select pgmq.create('taken') \g /dev/null
select pgmq.create('foreign__a') \g /dev/null
update pgflow.steps set queue_name = 'tampered__a' where flow_slug = 'plain' and step_slug = 'b';
insert into pgflow.workers (worker_id, queue_name, function_name) values ('00000000-0000-4000-8000-000000000001', 'plain', 'f');
select pgflow.start_flow('plain', '{}') \g /dev/null
select pgmq.delete('plain', 1::bigint) \g /dev/null
create function pg_temp.l(n int) returns text language sql as $$ select repeat('x', n) $$;
select pgflow.fence_functions(('00000000-0000-4000-8000-0000000000f' || n)::uuid, 'x', '{f}', 'ann', 'test') from generate_series(1, 2) n \g /dev/null
select pgflow.unfence_functions('00000000-0000-4000-8000-0000000000f2', 'x') \g /dev/null
set local timezone = 'UTC';
update pgflow.fences set lifted_at = '2026-01-01 00:00:00+00' where lifted_at is not null;
-- Valid slugs cannot resolve to one queue; a resolver that is broken on purpose can.
create function pg_temp.with_one_name() returns void language plpgsql as $$
begin
  create or replace function pgflow._resolve_step_queue_name(p_flow_slug text, p_step_slug text, p_step_index int) returns text
    language sql immutable as 'select ''same''';
  perform pgflow.ensure_flow_compiled('Broken', tap.shape('a', 'b'), 'step');
end $$;

create temp table expected (kind text, sqlstate text, message text, detail text, hint text, query text);
insert into expected values
  ('flow_queue_name', 'P0001',
    format('Flow "%s" cannot use per-step queues.', pg_temp.l(45)),
    format('The shortest required queue "%s__0" is 48 characters; PGMQ allows at most 47.', pg_temp.l(45)),
    'Shorten the concrete flow slug or use the default single queue.',
    $$ select pgflow.ensure_flow_compiled(pg_temp.l(45), shape('a'), 'step') $$),
  ('step_queue_name', 'P0001',
    format('Cannot derive a queue for step "deliverSlack" at index 10 in flow "%s".', pg_temp.l(44)),
    'The readable name is 58 characters and the index fallback is 48; PGMQ allows at most 47.',
    'Shorten the concrete flow slug, shorten the step slug enough for the readable name, or use the default single queue.',
    $$ select pgflow.ensure_flow_compiled(
         pg_temp.l(44), shape('a','b','c','d','e','f','g','h','i','j','deliverSlack'), 'step') $$),
  ('empty_flow', 'P0001',
    'Flow "None" has no steps, so it cannot use per-step queues.', 'Step mode creates one queue per step.',
    'Add a step or compile in flow mode.',
    $$ select pgflow.ensure_flow_compiled('None', '{}', 'step') $$),
  ('invalid_flow_slug', 'P0001',
    'Invalid flow slug "a__b".',
    'A slug has 1 to 128 ASCII letters, digits and single underscores, starts with a letter, ends with a letter or digit, and is not the word run.',
    'Rename the flow.',
    $$ select pgflow.ensure_flow_compiled('a__b', shape('a')) $$),
  ('invalid_step_slug', 'P0001',
    'Invalid step slug "run" at index 1 in flow "New".',
    'A slug has 1 to 128 ASCII letters, digits and single underscores, starts with a letter, ends with a letter or digit, and is not the word run.',
    'Rename the step.',
    $$ select pgflow.ensure_flow_compiled('New', shape('a', 'run')) $$),
  ('duplicate_step_slug', 'P0001',
    'Steps "ab" and "aB" of flow "New" are the same name when case is ignored.', 'They are at indices 0 and 2.', 'Rename one of them.',
    $$ select pgflow.ensure_flow_compiled('New', shape('ab', 'c', 'aB'), 'step') $$),
  ('duplicate_queue_route', 'P0001',
    'Steps "a" and "b" of flow "Broken" resolve to one queue "same".', 'In step mode every step owns its queue.', 'Rename one of them.',
    $$ select pg_temp.with_one_name() $$),
  ('queue_mode', 'P0001',
    'Queue mode "both" is unknown.', 'It was asked for flow "New".', 'Use flow or step.',
    $$ select pgflow.ensure_flow_compiled('New', shape('a'), 'both') $$),
  ('shape_invalid', 'P0001',
    'Shape of flow "New" is malformed: steps is not an array.', 'At $.steps.', 'Send the shape as the flow''s own description prints it.',
    $$ select pgflow.ensure_flow_compiled('New', '{"steps": 1}') $$),
  ('route_map_length', 'P0001',
    'Route map of flow "New" has 1 entries, 2 expected.', 'Every step must be there once, in order.', 'Send the checked routes or none.',
    $$ select pgflow.ensure_flow_compiled('New', shape('a', 'b'), 'step', '[{"stepSlug": "a", "queueName": "new__a"}]') $$),
  ('route_map_entry', 'P0001',
    'Route map of flow "New" differs at position 1.', 'Supplied "b" -> "new__x", derived "b" -> "new__b".',
    'The database derives queue names; build worker and database from the same pgflow version.',
    $$ select pgflow.ensure_flow_compiled('New', shape('a', 'b'), 'step',
         '[{"stepSlug": "a", "queueName": "new__a"}, {"stepSlug": "b", "queueName": "new__x"}]') $$),
  ('queue_foreign_owner', 'P0001',
    'Queue "tampered__a" wanted by flow "Tampered" belongs to flow "plain".',
    'Its name is persisted in a route of that flow or is its default queue.', 'Use another flow slug.',
    $$ select pgflow.ensure_flow_compiled('Tampered', shape('a'), 'step') $$),
  ('queue_ambiguous', 'P0001',
    'Queue "twice__a" matches several listed queues.', 'Listed: Twice__A, twice__a.', 'Remove the duplicate from PGMQ by hand, then try again.',
    $$ select pgflow.ensure_flow_compiled('Twice', shape('a'), 'step') $$),
  ('queue_ambiguous', '42P09',
    'Queue "twice__a" matches several listed queues.', 'Listed: Twice__A, twice__a.', 'Remove the duplicate from PGMQ by hand, then try again.',
    $$ select pgflow.delete_flow_and_data('Twice') $$),
  ('queue_unowned', 'P0001',
    'Queue "foreign__a" wanted by flow "Foreign" is already listed and not owned by it.', 'A flow that does not exist yet adopts no queue.',
    'Drop the queue if nobody needs its messages, or use another flow slug.',
    $$ select pgflow.ensure_flow_compiled('Foreign', shape('a'), 'step') $$),
  ('queue_missing', 'P0001',
    'Queue "robbed__a" of flow "Robbed" is not listed in PGMQ.', 'It was dropped or not restored; messages in it are gone.',
    'Find out why. Make it again with pgflow.restore_queues; or, if the loss is intended, delete the flow with pgflow.delete_flow_and_data and '
      'compile it again.',
    $$ select pgflow.ensure_flow_compiled('Robbed', shape('a'), 'step') $$),
  ('default_queue_taken', '23505',
    'Queue "taken" already exists, so flow "Taken" cannot be created.', 'A flow that does not exist yet adopts no queue.',
    'Drop the queue if nobody needs its messages, or use another flow slug.',
    $$ select pgflow.create_flow('Taken') $$),
  ('default_queue_taken', '23505',
    'Queue "taken" already exists, so flow "Taken" cannot be created.', 'A flow that does not exist yet adopts no queue.',
    'Drop the queue if nobody needs its messages, or use another flow slug.',
    $$ select pgflow.ensure_flow_compiled('Taken', shape('a')) $$),
  ('default_queue_name', 'P0001',
    format('Default queue of flow "%s" is 48 characters; PGMQ allows at most 47.', pg_temp.l(48)),
    format('The queue would be "%s".', pg_temp.l(48)), 'Shorten the flow slug.',
    $$ select pgflow.create_flow(pg_temp.l(48)) $$),
  ('step_mode_incremental', 'P0001',
    'Flow "Stepped" is in step mode; steps cannot be added one by one.',
    'All routes of a step-mode flow are checked together before anything is written.',
    'Compile the complete shape with pgflow.ensure_flow_compiled.',
    $$ select pgflow.add_step('Stepped', 'c') $$),
  ('map_dependencies', 'P0001',
    'Map step "m" of flow "plain" has several dependencies; it may have one.', 'The dependencies are a, b.',
    'Join them in a single step and map over its output.',
    $$ select pgflow.add_step('plain', 'm', array['b', 'a'], step_type => 'map') $$),
  ('map_dependencies', 'P0001',
    'Map step "m" of flow "New" has several dependencies; it may have one.', 'The dependencies are a, b.',
    'Join them in a single step and map over its output.',
    $$ select pgflow.ensure_flow_compiled('New', shape('a', 'b', 'm*:b,a')) $$),
  ('duplicate_dependency', 'P0001',
    'Step "c" of flow "plain" names a dependency twice.', 'The dependency is "a".', 'Name each dependency once.',
    $$ select pgflow.add_step('plain', 'c', array['a', 'b', 'a']) $$),
  ('duplicate_dependency', 'P0001',
    'Step "c" of flow "New" names a dependency twice.', 'The dependency is "a".', 'Name each dependency once.',
    $$ select pgflow.ensure_flow_compiled('New', shape('a', 'c:a,a')) $$),
  ('step_redefinition', 'P0001',
    'Step "b" of flow "plain" exists with another definition.', 'Stored: single [a]; asked: single [].',
    'Define the changed flow under a new slug.',
    $$ select pgflow.add_step('plain', 'b') $$),
  ('selector_required', 'P0001',
    'Claiming from flow "Stepped" needs a step selector.',
    'Queue "stepped__a" was named; in step mode every queue is private to one step.', 'Pass the exact step slug of the queue.',
    $$ select pgflow.start_tasks('Stepped', '{1}', '00000000-0000-4000-8000-000000000001', 'stepped__a') $$),
  ('selector_route', 'P0001',
    'Step "A" of flow "Stepped" is not routed to queue "stepped__a".',
    'The flow, the step and the queue must be spelled exactly as they are stored.', 'Look the route up in pgflow.steps.',
    $$ select pgflow.start_tasks('Stepped', '{1}', '00000000-0000-4000-8000-000000000001', 'stepped__a', 'A') $$),
  ('selector_forbidden', 'P0001',
    'Flow "plain" uses its default queue; a step selector is not allowed.', 'Step "a" was named.',
    'Omit the step, or compile the flow with step queues.',
    $$ select pgflow.start_tasks('plain', '{1}', '00000000-0000-4000-8000-000000000001', 'plain', 'a') $$),
  ('claim_visibility', 'P0001',
    'start_tasks(): visibility updated 0 of 1 claimed messages', 'Messages of queue "plain" that tasks refer to are gone.',
    'Something outside of pgflow deletes messages; nothing was claimed and no attempt was used.',
    $$ select pgflow.start_tasks('plain', '{1}', '00000000-0000-4000-8000-000000000001', 'plain') $$),
  ('root_map_input', 'P0001',
    'Flow "mapped" starts with a map step, so its input must be an array (got object).',
    'A map step without dependencies runs one task for each element of the run''s input.',
    'Start the flow with a JSON array, for example [1, 2, 3].',
    $$ select pgflow.start_flow('mapped', '{}') $$),
  ('vt_batch_length', 'P0001',
    'msg_ids length (2) must equal vt_offsets length (1)', 'Queue "plain"; nothing was changed.', 'Pass one offset for each message id.',
    $$ select pgflow.set_vt_batch('plain', '{1,2}', '{1}') $$),
  -- Not of the specification: ours.
  ('items_invalid', '22023',
    'The items to settle are not an array.', 'They are a JSON object.', 'Send an array of objects with run_id, step_slug and task_index.',
    $$ select pgflow.complete_tasks('{}') $$),
  ('queue_missing', '42P01',
    'Queue "robbed__a" does not exist.', 'It was dropped or not restored; messages in it are gone.',
    'Find out why. End its runs with pgflow.cancel_run; or make it again with pgflow.restore_queues and give the tasks that pgflow.stalled_tasks '
      'lists to pgflow.requeue_tasks.',
    $$ select pgflow.start_flow('Robbed', '{}') $$),
  ('queue_unknown', '42P01',
    'No flow has a queue "taken".', 'Queues that belong to no flow are out of reach here, whether they exist or not.',
    'Look the route up in pgflow.steps; for other queues use the functions of schema pgmq.',
    $$ select pgflow.set_vt_batch('taken', '{1}', '{1}') $$),
  ('queue_name_taken', '42P07',
    'Queue "pair__a_pkey" cannot be made: another queue uses the name of its table.', 'pgmq.a_pair__a_pkey is an index or a sequence.',
    'Use another slug; one that ends with _pkey or _msg_id_seq meets the index or the sequence of its neighbour.',
    $$ select pgflow.ensure_flow_compiled('Pair', shape('a', 'a_pkey'), 'step') $$),
  ('queue_name_taken', '42P07',
    'Queue "plain_msg_id_seq" cannot be made: another queue uses the name of its table.', 'pgmq.q_plain_msg_id_seq is an index or a sequence.',
    'Use another slug; one that ends with _pkey or _msg_id_seq meets the index or the sequence of its neighbour.',
    $$ select pgflow.create_flow('plain_msg_id_seq') $$),
  ('argument_invalid', '22023',
    'pgflow.read_and_claim(): qty must be a number of messages, 0 or more.', 'It is -1; nothing was changed.',
    'Correct the call; docs/sql-api.md tells what each argument means.',
    $$ select pgflow.read_and_claim('plain', 'plain', null, gen_random_uuid(), -1) $$),
  ('argument_invalid', '22023',
    'pgflow.fence_functions(): token must be given.', 'It is NULL; nothing was changed.',
    'Correct the call; docs/sql-api.md tells what each argument means.',
    $$ select pgflow.fence_functions(gen_random_uuid(), null, '{f}', 'ann', 'test') $$),
  ('event_sink', 'P0001',
    'Event sink "mail" is unknown.', 'The sinks are realtime, hook, notify and table; an empty list turns events off.',
    'Correct the name and call pgflow.configure_events again.',
    $$ select pgflow.configure_events('{mail}') $$),
  ('fence_empty', 'P0001',
    'A fence without functions was asked for.', 'Its owner would be ann.', 'Name at least one worker function.',
    $$ select pgflow.fence_functions(gen_random_uuid(), 'x', '{}', 'ann', 'test') $$),
  ('fence_token', '42501',
    'The token of fence 00000000-0000-4000-8000-0000000000f1 is another one.', 'The fence belongs to ann, who gave this reason: test',
    'Ask its owner. In an emergency pass a reason instead of the token; it is kept.',
    $$ select pgflow.unfence_functions('00000000-0000-4000-8000-0000000000f1', 'y') $$),
  ('fence_lifted', 'P0001',
    'Fence 00000000-0000-4000-8000-0000000000f2 has been lifted already.', 'It was lifted at 2026-01-01 00:00:00+00.',
    'Fence the functions anew, under a new id.',
    $$ select pgflow.fence_functions('00000000-0000-4000-8000-0000000000f2', 'x', '{f}', 'ann', 'test') $$),
  ('fence_unknown', 'P0002',
    'There is no fence 00000000-0000-4000-8000-0000000000f3.', 'Nothing was changed.', 'Look it up in pgflow.fences.',
    $$ select pgflow.unfence_functions('00000000-0000-4000-8000-0000000000f3', 'x') $$),
  ('isolation_level', 'P0001',
    'pgflow.create_flow() cannot run in a REPEATABLE READ transaction.',
    'It must see what others commit while it waits for them; such a transaction sees only what was there before.',
    'Call it in a READ COMMITTED transaction of its own.',
    $$ select pgflow._require_read_committed('create_flow', 'repeatable read') $$),
  ('unknown_run', 'P0001',
    'Run 00000000-0000-4000-8000-00000000000f does not exist.', 'Step "a" of it was to be skipped.', 'Look the run up in pgflow.runs.',
    $$ select pgflow._cascade_force_skip_steps('00000000-0000-4000-8000-00000000000f', 'a', 'condition_unmet') $$);

select plan((select count(*)::int from expected) + 20);
select is(
  error_of(query) - 'constraint',
  jsonb_build_object('sqlstate', sqlstate, 'kind', kind, 'message', message, 'detail', detail, 'hint', hint),
  kind || ' ' || sqlstate
) from expected;

select set_eq(
  'select kind from expected',
  $$ select kind[1] from pg_proc p, regexp_matches(p.prosrc, 'constraint = ''pgflow_([a-z_]+)''', 'g') kind
       where p.pronamespace = 'pgflow'::regnamespace $$,
  'no kind is missing here'
);

-- PostgreSQL's own, which clients of old know.
select is(error_of($$ select pgflow.add_step('nobody', 'a') $$) ->> 'sqlstate', '23503', 'an unknown flow');
select is(error_of($$ select pgflow.start_flow('nobody', '{}') $$) ->> 'kind', 'runs_flow_slug_fkey', 'an unknown flow cannot be started');
select is(error_of($$ select pgflow.create_flow('PLAIN') $$) ->> 'kind', 'idx_flows_normalized_slug', 'another spelling of a flow');
select is(
  error_of($$ select pgflow.start_tasks('plain', '{1}', '00000000-0000-4000-8000-00000000000f', 'plain') $$)
    - 'message' - 'detail' - 'hint',
  '{"sqlstate": "23503", "kind": "step_tasks_last_worker_id_fkey"}', 'an unknown worker'
);
select is(error_of($$ select * from pgflow.set_vt_batch('nobody', '{1}', '{1}') $$) ->> 'sqlstate', '42P01', 'an unknown queue');

-- NULL where a value is needed; a NULL name that is only looked up is an unknown one.
select is(error_of(query) ->> 'kind', 'argument_invalid', query) from unnest(array[
  $$ select pgflow.read_and_claim('plain', 'plain', null, gen_random_uuid(), null) $$,
  $$ select pgflow.set_vt_batch('plain', '{1,2}', '{1,null}') $$,
  $$ select pgflow.register_worker(null, 'plain', 'f') $$,
  $$ select pgflow.register_worker(gen_random_uuid(), null, 'f') $$,
  $$ select pgflow.register_worker(gen_random_uuid(), 'plain', null) $$,
  $$ select pgflow.fence_functions(null, 'x', '{f}', 'ann', 'test') $$,
  $$ select pgflow.fence_functions(gen_random_uuid(), 'x', '{f}', null, 'test') $$,
  $$ select pgflow.fence_functions(gen_random_uuid(), 'x', '{f}', 'ann', null) $$,
  $$ select pgflow.deprecate_workers(null) $$,
  $$ select pgflow.drain_status(null) $$,
  $$ select pgflow.configure_events(null) $$
]) query;
select is(error_of($$ select pgflow.unfence_functions(null, 'x') $$) ->> 'kind', 'fence_unknown', 'no fence has a NULL id');
select is(error_of($$ select pgflow.next_visible_at(null) $$) ->> 'kind', 'queue_unknown', 'no queue a NULL name');
select is(error_of($$ select pgflow.cancel_run(null) $$), null, 'and no run');

select * from finish();
rollback;
