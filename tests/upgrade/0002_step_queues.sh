# A20: the step queue migration keeps every row of a compliant database, and refuses a violating one without a trace.
set -euo pipefail
set -a; . "$1"; set +a
export PGOPTIONS='-c client_min_messages=warning'
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
sql=$here/../../sql

databases=()
cleanup() { for database in "${databases[@]}"; do psql -Xqd postgres -c "drop database if exists $database with (force)"; done; }
trap cleanup EXIT

fail() { echo "$*"; exit 1; }
run() { psql -XqAtd "$1" -v ON_ERROR_STOP=1 --single-transaction "${@:2}"; }
ask() { run "$1" -c "$2"; }

# baseline <name>: a populated database that has the first migration only.
baseline() {
  databases+=("$1")
  psql -Xqd postgres -v ON_ERROR_STOP=1 -c "create database $1 template template0 encoding 'UTF8'"
  run "$1" -f "$sql/pgmq/schema.sql" -f "$sql/pgmq/queues.sql" -f "$sql/pgmq/messages.sql" \
    -f "$sql/migrations/0001_baseline.sql" -f "$here/populated.sql" >/dev/null
}
# Everything that upgrades must not touch, the new columns left out.
contents() {
  local table queries=()
  for table in pgflow.{flows,steps,deps,runs,step_states,step_tasks,workers,worker_functions} \
    pgmq.{meta,q_orderv1,a_orderv1,q_unused_flow,a_unused_flow}; do
    queries+=(-c "select '$table', to_jsonb(t) - '{queue_mode,pid,host_id,revision,crash_count}'::text[] from $table t order by 2")
  done
  run "$1" "${queries[@]}"
}

# A compliant database.
good=upgrade_good_$$
baseline "$good"
before=$(contents "$good")
[[ $(wc -l <<<"$before") -ge 19 ]] || fail "the fixture is not populated"
for migration in "$sql"/migrations/000[2-9]*.sql; do
  run "$good" -f "$migration"
done
[[ $(contents "$good") == "$before" ]] || fail "the migration changed rows: $(diff <(echo "$before") <(contents "$good"))"
[[ $(ask "$good" "select distinct queue_mode from pgflow.flows") == flow ]] || fail "existing flows are in flow mode"

# The functions of today accept the definition and own its queue in the spelling that PGMQ lists.
run "$good" -c 'set local check_function_bodies = off' $(printf -- '-f %s ' "$sql"/functions/*/*.sql) >/dev/null
[[ $(ask "$good" "select pgflow.ensure_flow_compiled('orderV1', pgflow._get_flow_shape('orderV1'), 'flow',
  '[{\"stepSlug\": \"load\", \"queueName\": \"orderv1\"}, {\"stepSlug\": \"eachLine\", \"queueName\": \"orderv1\"}]') ->> 'status'") == verified ]] ||
  fail "an upgraded flow is verified"
[[ $(contents "$good") == "$before" ]] || fail "verification changed rows"

# Fresh and upgraded databases have one schema.
dump() { pg_dump -sd "$1" -n pgflow -n pgmq -T pgflow.schema_migrations -T "pgmq.[qa]_*" | grep -v '^\\\(un\)\?restrict '; }
diff <(dump pgflow_template) <(dump "$good") || fail "an upgraded schema differs from a fresh one"

# refuses <what> <sql> <expected detail>: this definition aborts the migration as a whole.
refuses() {
  local database=upgrade_bad_${#databases[@]}_$$ before error
  databases+=("$database")
  psql -Xqd postgres -c "create database $database template $bad"
  run "$database" -c "$2"
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
  [[ $(ask "$database" "select count(*) from pg_attribute where attrelid = 'pgflow.flows'::regclass and attname = 'queue_mode'") == 0 ]] ||
    fail "$1: the table changed"
  psql -Xqd postgres -c "drop database $database"
}
bad=upgrade_base_$$
baseline "$bad"
flow() { echo "insert into pgflow.flows (flow_slug) values ('$1');"; }
step() { echo "insert into pgflow.steps (flow_slug, step_slug, queue_name, step_index) values ('unused_flow', '$1', 'unused_flow', $2);"; }
refuses 'leading underscore of a flow' "$(flow _x)" 'flow "_x"'
refuses 'trailing underscore of a flow' "$(flow x_)" 'flow "x_"'
refuses 'double underscore in a flow' "$(flow a__b)" 'flow "a__b"'
refuses 'leading underscore of a step' "$(step _x 1)" 'step "_x" of flow "unused_flow"'
refuses 'trailing underscore of a step' "$(step x_ 1)" 'step "x_" of flow "unused_flow"'
refuses 'double underscore in a step' "$(step a__b 1)" 'step "a__b" of flow "unused_flow"'
refuses 'steps that differ in case only' "$(step Only 1)" 'steps "only", "Only" of flow "unused_flow" differ in case only'
refuses 'all of them in one error' "$(flow _x) $(flow a__b) $(step x_ 1) $(step Only 2)" '4 definition(s)
flow "_x"
flow "a__b"
step "x_" of flow "unused_flow"
steps "only", "Only" of flow "unused_flow" differ in case only'
