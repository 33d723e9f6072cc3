# Upstream's schema is refused until adoption is asked for; then it is checked, completed, and goes on working.
. "$(dirname "$0")/support.bash"

upstream=adopt_$$
empty "$upstream"
pgmq "$upstream"
run "$upstream" -f "$here/upstream.sql" >/dev/null

refused() {
  local output status=0 untouched
  untouched=$(dump "$2")
  output=$(pgflow "$2" migrate up "${@:4}" 2>&1) || status=$?
  [[ $status != 0 && $output == *"$3"* && $output == *hint:* ]] || fail "$1: status $status, $output"
  [[ $(dump "$2") == "$untouched" ]] || fail "$1: the schema changed"
  ok "$1"
}
refused 'without being asked' "$upstream" 'migrate up --adopt'

copy "$upstream" "adopt_bad_$$"
ask "adopt_bad_$$" "insert into pgflow.flows (flow_slug) values ('a__b'), ('_x')"
refused 'with offending definitions' "adopt_bad_$$" 'flow "a__b"' --adopt
copy "$upstream" "adopt_half_$$"
ask "adopt_half_$$" "alter table pgflow.runs drop column remaining_steps; alter table pgflow.step_tasks alter message_id type int"
refused 'when columns are missing or of another type' "adopt_half_$$" 'column pgflow.runs.remaining_steps integer
column pgflow.step_tasks.message_id bigint' --adopt
copy "$upstream" "adopt_queues_$$"
ask "adopt_queues_$$" "drop function pgflow.set_vt_batch; drop schema pgmq cascade"
refused 'without its queues' "adopt_queues_$$" 'no schema pgmq' --adopt

# at_work <database> <fact>: the work that upstream left is claimed and completed by our functions.
at_work() {
  [[ $(ask "$1" "select count(*) from pgflow.schema_migrations") == 5 ]] || fail "$2: marked"
  [[ $(ask "$1" "select string_agg(status, ' ' order by run_id) from pgflow.step_tasks") == 'queued cancelled' ]] ||
    fail "$2: what was left behind in a failed run is cancelled"
  [[ $(ask "$1" "
    select pgflow.ensure_flow_compiled('orderV1', pgflow._get_flow_shape('orderV1')) ->> 'status';
    select pgflow.register_worker('00000000-0000-4000-8000-00000000000b', 'orderv1', 'order');
    select count(*) from pgflow.start_tasks('orderV1', array(select msg_id from pgmq.read('orderv1', 30, 10)), '00000000-0000-4000-8000-00000000000b', 'orderv1');
    select count(*) from pgflow.complete_task('00000000-0000-4000-8000-000000000001', 'load', 0, '\"x\"');
    select count(*) from pgflow.start_tasks('orderV1', array(select msg_id from pgmq.read('orderv1', 30, 10)), '00000000-0000-4000-8000-00000000000b', 'orderv1');
    select count(*) from pgflow.complete_task('00000000-0000-4000-8000-000000000001', 'mail', 0, '\"y\"');
    select output from pgflow.runs where status = 'completed'" | xargs) == 'verified 1 1 1 1 {mail: y}' ]] || fail "$2: a run goes to its end"
  [[ $(ask "$1" "select count(*) from pgflow.start_flow('orderV1', '3'); select pgflow.my_own()" | xargs) == '1 42' ]] ||
    fail "$2: new runs start, and the user's own function is still there"
  [[ $(ask "$1" "select to_regprocedure('pgflow.start_tasks(text,bigint[],uuid)') is null") == t ]] || fail "$2: old forms are gone"
  ask "$1" "select pgflow.delete_flow_and_data('orderV1')" >/dev/null
  pgflow "$1" migrate validate | grep -q valid || fail "$2: validate agrees: $(pgflow "$1" migrate validate)"
  ok "$2"
}

# The same at 0.17: queue identity and step queues are there already, in upstream's form.
copy "$upstream" "adopt_017_$$"
run "adopt_017_$$" -c "
  create function pgflow.is_valid_queue_name(queue_name text) returns boolean language sql immutable
    as 'select queue_name <> '''' and length(queue_name) <= 47 and queue_name = lower(queue_name)';
  create function pgflow.create_flow(flow_slug text, max_attempts int default null, base_delay int default null, timeout int default null)
    returns pgflow.flows language sql as 'select null::pgflow.flows';
  alter table pgflow.flows add column queue_mode text not null default 'flow', add constraint queue_mode_is_valid check (queue_mode in ('flow', 'step'));
  create unique index idx_flows_normalized_slug on pgflow.flows (lower(flow_slug));
  alter table pgflow.step_tasks add column queue_name text;
  update pgflow.step_tasks set queue_name = lower(flow_slug);
  alter table pgflow.step_tasks alter queue_name set not null, add constraint queue_name_is_valid check (pgflow.is_valid_queue_name(queue_name));
  drop index pgflow.idx_step_tasks_message_id;
  create unique index idx_step_tasks_queue_message on pgflow.step_tasks (queue_name, message_id) where message_id is not null;
  alter table pgflow.steps add column queue_name text;
  update pgflow.steps set queue_name = lower(flow_slug);
  alter table pgflow.steps alter queue_name set not null, add constraint queue_name_is_valid check (pgflow.is_valid_queue_name(queue_name));
  create unique index idx_steps_normalized_slug on pgflow.steps (flow_slug, lower(step_slug));
  insert into pgflow.flows (flow_slug, queue_mode) values ('stepped', 'step');
  insert into pgflow.steps (flow_slug, step_slug, queue_name) values ('stepped', 'a', 'stepped__a');
  select pgmq.create('stepped__a');" >/dev/null

pgflow "$upstream" migrate up --adopt | grep -q 'version 5  adopted' || fail "0.16 is adopted"
at_work "$upstream" 'a 0.16 database works on'
pgflow "adopt_017_$$" migrate up --adopt | grep -q adopted || fail "0.17 is adopted"
[[ $(ask "adopt_017_$$" "select pgflow.ensure_flow_compiled('stepped', '{\"steps\": [{\"slug\": \"a\"}]}', 'step') ->> 'status'") == verified ]] ||
  fail "a flow in step mode keeps its queue"
ask "adopt_017_$$" "select pgflow.delete_flow_and_data('stepped')" >/dev/null
at_work "adopt_017_$$" 'a 0.17 database works on'
pgflow "$upstream" migrate up --adopt | grep -q 'up to date' || fail "adopting twice is up to date"
ok 'adopting twice changes nothing'
