-- Plans that a session has kept since the tables were empty stay good when the tables have grown: the pages that a call
-- touches depend on what it is asked, not on how much there is.
\ir ../../support/engine.psql
\set QUIET on
select plan(12);

-- The planner knows for sure that there is nothing, which is the worst it can believe.
vacuum analyze;
select pgflow.configure_events('{}') \g /dev/null
select pgflow.ensure_flow_compiled(flow, '{"steps": [
  {"slug": "a", "dependencies": []},
  {"slug": "b", "dependencies": ["a"], "options": {"maxAttempts": 9}},
  {"slug": "c", "dependencies": ["b"]}]}', 'step') from unnest(array['w', 'x', 'y', 'z']) flow \g /dev/null

create table t.items (batch jsonb);
create table t.pages (round int, step int generated always as identity, what text, pages bigint);
create procedure t.measure(p_round int, p_what text, p_query text) language plpgsql as $$
declare
  v_plan json;
begin
  execute 'explain (analyze, buffers, format json) ' || p_query into v_plan;
  insert into t.pages (round, what, pages) values (
    p_round, p_what, (v_plan->0->'Plan'->>'Shared Hit Blocks')::bigint + (v_plan->0->'Plan'->>'Shared Read Blocks')::bigint
  );
end $$;
create function t.read(p_step text) returns jsonb language sql as $$
  select jsonb_agg(jsonb_build_object('run_id', c.run_id, 'step_slug', c.step_slug, 'task_index', 0, 'attempt', c.attempt, 'output', 1, 'error', 'e'))
    from pgflow.read_and_claim('w__' || p_step, 'w', p_step, t.worker(), 10) c
$$;
create procedure t.cycle(p_round int) language plpgsql as $$
declare
  v_claim constant text := 'insert into t.items select t.read(%L)';
begin
  truncate t.items;
  call t.measure(p_round, 'start_flow', $q$select pgflow.start_flow('w', '{}') from generate_series(1, 10)$q$);
  call t.measure(p_round, 'claim of a root', format(v_claim, 'a'));
  call t.measure(p_round, 'completion', 'select pgflow.complete_tasks(batch, t.worker()) from t.items');
  call t.measure(p_round, 'completion asked again', 'select pgflow.complete_tasks(batch, t.worker()) from t.items');
  truncate t.items;
  call t.measure(p_round, 'claim of a dependent', format(v_claim, 'b'));
  call t.measure(p_round, 'retry', 'select pgflow.fail_tasks(batch, t.worker()) from t.items');
  update pgmq.q_w__b set vt = clock_timestamp();
  truncate t.items;
  call t.measure(p_round, 'claim of a retry', format(v_claim, 'b'));
  call t.measure(p_round, 'release', 'select pgflow.release_tasks(t.worker())');
  truncate t.items;
  call t.measure(p_round, 'claim after a release', format(v_claim, 'b'));
  call t.measure(p_round, 'recovery', 'select pgflow.requeue_stalled_tasks()');
  perform pgflow.complete_tasks(batch, t.worker()) from t.items;
  truncate t.items;
  insert into t.items select t.read('c');
  call t.measure(p_round, 'last completion', 'select pgflow.complete_tasks(batch, t.worker()) from t.items');
end $$;

call t.cycle(0);
call t.cycle(1);
call t.cycle(2);

-- 15,000 tasks more, and nobody tells the planner.
with run as (
  insert into pgflow.runs (flow_slug, input, status, completed_at)
    select 'w', '{}', 'completed', clock_timestamp() from generate_series(1, 5000)
    returning run_id
),
state as (
  insert into pgflow.step_states (flow_slug, run_id, step_slug, status, remaining_tasks, initial_tasks, started_at, completed_at)
    select 'w', run.run_id, slug, 'completed', 0, 1, now(), now() from run, unnest(array['a', 'b', 'c']) slug
    returning run_id, step_slug
)
insert into pgflow.step_tasks (flow_slug, run_id, step_slug, queue_name, message_id, status, attempts_count, started_at, completed_at)
  select 'w', run_id, step_slug, 'w__' || step_slug, 1000000 + row_number() over (), 'completed', 1, now(), now() from state;

call t.cycle(3);
select cmp_ok(after.pages, '<', before.pages * 2 + 200, after.what)
  from t.pages before
  join t.pages after on after.step = before.step + 11 and after.round = 3
  order by after.step;
select is((select count(*) from pgflow.runs where output = '{"c": 1}'), 40::bigint, 'and every run has completed');

select * from finish();
