# A20: the step queue migration keeps every row of a compliant database, and refuses a violating one without a trace.
. "$(dirname "$0")/support.bash"

good=upgrade_good_$$
baseline "$good"
before=$(contents "$good")
[[ $(wc -l <<<"$before") -ge 34 ]] || fail "the fixture is not populated"
PGDATABASE=$good "$pgflow_program" migrate up
[[ $(contents "$good") == "$before" ]] || fail "the migration changed rows: $(diff <(echo "$before") <(contents "$good"))"
ok "rows, ids, statuses, messages and listed spellings are what they were"
[[ $(ask "$good" "select distinct queue_mode from pgflow.flows") == flow ]] || fail "existing flows are in flow mode"
[[ $(ask "$good" "select distinct queue_name = lower(flow_slug) from (
  select flow_slug, queue_name from pgflow.steps union all select flow_slug, queue_name from pgflow.step_tasks) route") == t ]] ||
  fail "every step and task has the queue of its flow"
ok "every step and task has the queue of its flow"

# The functions of today accept the definition and own its queue in the spelling that PGMQ lists.
[[ $(ask "$good" "select pgflow.ensure_flow_compiled('orderV1', pgflow._get_flow_shape('orderV1'), 'flow',
  '[{\"stepSlug\": \"load\", \"queueName\": \"orderv1\"}, {\"stepSlug\": \"eachLine\", \"queueName\": \"orderv1\"},
    {\"stepSlug\": \"send_Mail\", \"queueName\": \"orderv1\"}]') ->> 'status'") == verified ]] ||
  fail "an upgraded flow is verified"
[[ $(contents "$good") == "$before" ]] || fail "verification changed rows"
ok "an upgraded flow is verified"

same_dump pgflow_template "$good" "fresh and upgraded databases have one schema"

# What was queued before goes on: its message is claimed and its run completes.
copy "$good" "upgrade_goes_on_$$"
[[ $(ask "upgrade_goes_on_$$" "
  insert into pgflow.workers (worker_id, queue_name, function_name) values ('00000000-0000-4000-8000-00000000000b', 'orderv1', 'order');
  select task_index from pgflow.start_tasks('orderV1', array(select msg_id from pgmq.read('orderv1', 30, 10)),
    '00000000-0000-4000-8000-00000000000b', 'orderv1')") == 0 ]] || fail "the queued task is claimed"
[[ $(ask "upgrade_goes_on_$$" "
  select count(*) from generate_series(0, 3) n cross join lateral pgflow.complete_task('00000000-0000-4000-8000-000000000001', 'eachLine', n, '1')
    where n in (0, 2, 3)") == 3 ]] || fail "claimed, started and stalled tasks complete"
ok "work from before goes on"

# refuses <what> <sql> <expected detail>: this definition aborts the migration as a whole.
bad=upgrade_base_$$
baseline "$bad"
untouched=$(dump "$bad")
refuses() {
  local database=upgrade_bad_${#databases[@]}_$$ before error
  copy "$bad" "$database"
  run "$database" -c "$2" >/dev/null
  before=$(contents "$database")
  if error=$(run "$database" -v VERBOSITY=verbose -f "$sql/migrations/0002_step_queues.sql" 2>&1); then
    fail "$1: the migration went through"
  fi
  [[ $error == *"23514"*"nothing was changed"* && $error == *"CONSTRAINT NAME:  pgflow_naming_rules"* && $error == *HINT:* ]] ||
    fail "$1: not our error: $error"
  local line
  while read -r line; do
    [[ $error == *"$line"* ]] || fail "$1: \"$line\" is not named in: $error"
  done <<<"$3"
  [[ $(contents "$database") == "$before" ]] || fail "$1: rows changed"
  [[ $(dump "$database") == "$untouched" ]] || fail "$1: the schema changed"
  ok "refused as a whole: $1"
}
flow() { echo "insert into pgflow.flows (flow_slug) values ('$1');"; }
step() { echo "insert into pgflow.steps (flow_slug, step_slug, step_index) values ('$1', '$2', $3);"; }
unused() { step unused_flow "$@"; }
# A run that is at work in a step of a flow, whatever they are called.
at_work() {
  flow "$1"
  step "$1" "$2" 0
  echo "select pgmq.create('$1');
    insert into pgflow.runs (run_id, flow_slug, input, remaining_steps) values ('00000000-0000-4000-8000-00000000000f', '$1', '1', 1);
    insert into pgflow.step_states (flow_slug, run_id, step_slug, status, initial_tasks, remaining_tasks, started_at)
      values ('$1', '00000000-0000-4000-8000-00000000000f', '$2', 'started', 1, 1, now());
    insert into pgflow.step_tasks (flow_slug, run_id, step_slug, message_id)
      values ('$1', '00000000-0000-4000-8000-00000000000f', '$2', (select pgmq.send('$1', '1')));"
}

refuses 'leading underscore of a flow' "$(flow _x)" 'flow "_x"'
refuses 'trailing underscore of a flow' "$(flow x_)" 'flow "x_"'
refuses 'double underscore in a flow' "$(flow a__b)" 'flow "a__b"'
refuses 'a flow at work with such a name' "$(at_work a__b load)" 'flow "a__b"'
refuses 'leading underscore of a step' "$(unused _x 1)" 'step "_x" of flow "unused_flow"'
refuses 'trailing underscore of a step' "$(unused x_ 1)" 'step "x_" of flow "unused_flow"'
refuses 'double underscore in a step' "$(unused a__b 1)" 'step "a__b" of flow "unused_flow"'
refuses 'a step at work with such a name' "$(at_work fine _load)" 'step "_load" of flow "fine"'
refuses 'unused flows that differ in case only' "$(flow Unused_Flow)" 'flows "Unused_Flow", "unused_flow" differ in case only'
refuses 'a flow at work and another that differ in case only' "$(flow ORDERV1)" 'flows "ORDERV1", "orderV1" differ in case only'
refuses 'unused steps that differ in case only' "$(unused Only 1)" 'steps "only", "Only" of flow "unused_flow" differ in case only'
refuses 'steps at work that differ in case only' "$(at_work fine load) $(step fine LOAD 1)" 'steps "load", "LOAD" of flow "fine" differ in case only'
refuses 'a name without room for a queue' "$(flow "$(printf 'x%.0s' {1..48})") $(step "$(printf 'x%.0s' {1..48})" a 0)" \
  'has 48 characters, its queue may have 47'
refuses 'one message of two unfinished tasks' "update pgflow.step_tasks set message_id = 2 where step_slug = 'eachLine' and task_index = 1" \
  'message 2 of queue "orderv1" belongs to several tasks: 00000000-0000-4000-8000-000000000001 eachLine[0], 00000000-0000-4000-8000-000000000001 eachLine[1]'
refuses 'one message of two tasks that are over' "update pgflow.step_tasks set message_id = 1 where status in ('failed', 'cancelled')" \
  'message 1 of queue "orderv1" belongs to several tasks'
refuses 'all of them in one error' "$(flow _x) $(flow a__b) $(flow OrderV1) $(unused x_ 1) $(unused Only 2)
    update pgflow.step_tasks set message_id = 7" '6 offender(s)
flow "_x"
flow "a__b"
flows "OrderV1", "orderV1" differ in case only
step "x_" of flow "unused_flow"
steps "only", "Only" of flow "unused_flow" differ in case only
message 7 of queue "orderv1" belongs to several tasks'
