#!/usr/bin/env bash
# The SQL blocks of docs/rollout.md and docs/upgrade.md, in their order, do what the pages say; and so do our commands.
# Arguments: the cluster's env file, the folder of the programs.
set -euo pipefail
set -a; . "$1"; set +a
bin=$2
docs=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../docs" && pwd)
export PGOPTIONS='-c client_min_messages=warning' PGDATABASE=sequences_$$
cleanup() { PGOPTIONS= psql -Xqd postgres -c "drop database if exists $PGDATABASE with (force)"; }
trap cleanup EXIT
psql -Xqd postgres -v ON_ERROR_STOP=1 -c "create database $PGDATABASE template pgflow_template"
fail() { echo "not ok: $*"; exit 1; }
ok() { echo "ok: $*"; }
ask() { psql -XAtq -v ON_ERROR_STOP=1 -c "$1"; }
pgflow() { "$bin/pgflow" "$@"; }

# block <page> <n>: the n-th SQL block, run; its answers, a row a line.
block() {
  awk -v n="$2" '/^```sql/ { on = ++count == n; next } /^```/ { on = 0 } on' "$docs/$1" >"$folder/block.sql"
  [[ -s $folder/block.sql ]] || fail "$1 has a block $2"
  psql -XAtq -v ON_ERROR_STOP=1 -f "$folder/block.sql"
}
count() { grep -c '^```sql' "$docs/$1"; }
folder=$(mktemp -d)
trap 'cleanup; rm -rf "$folder"' EXIT
equal() { [[ $2 == "$3" ]] || fail "$1: got $(printf %q "$3"), expected $(printf %q "$2")"; ok "$1"; }
states() { ask "select string_agg(function_name || '=' || enabled, ' ' order by function_name) from pgflow.worker_functions"; }

shape='{"steps": [{"slug": "classify"}, {"slug": "deliverSlack", "dependencies": ["classify"]}]}'
for version in 1 2; do
  ask "select pgflow.ensure_flow_compiled('communityThreadsV$version', '$shape', 'step')" >/dev/null
done
worker() { # worker <n> <version> <step>
  ask "select pgflow.register_worker('00000000-0000-4000-8000-00000000000$1', lower('communityThreadsV$2__$3'), 'communityThreadsV$2/$3')"
}
worker 1 1 classify
worker 2 1 deliverSlack
ask "update pgflow.worker_functions set enabled = false where function_name like '%deliverSlack'"
ask "select pgflow.start_flow('communityThreadsV1', '{}') from generate_series(1, 3)" >/dev/null
claim() { ask "select count(*) from pgflow.read_and_claim('communitythreadsv1__classify', 'communityThreadsV1', 'classify', '00000000-0000-4000-8000-00000000000$1', 1)"; }
equal 'before, a worker claims' 1 "$(claim 1)"

# --- docs/rollout.md, in place
equal 'rollout.md has six blocks' 6 "$(count rollout.md)"
equal 'the complete set is fenced with its states, its workers are told' \
  $'communityThreadsV1/classify|t\ncommunityThreadsV1/deliverSlack|f\n2' "$(block rollout.md 1)"
equal 'a fenced worker claims nothing' 0 "$(claim 1)"
equal 'a task in hand is not drained' \
  $'communityThreadsV1/classify|0|1|1|f\ncommunityThreadsV1/deliverSlack|0|1|0|f' "$(block rollout.md 2)"
ask "select pgflow.complete_tasks(jsonb_agg(jsonb_build_object('run_id', run_id, 'step_slug', step_slug, 'task_index', task_index, 'output', 1)))
  from pgflow.step_tasks where status = 'started'" >/dev/null
ask "select pgflow.mark_worker_stopped(worker_id) from pgflow.workers" >/dev/null
equal 'when its worker has finished and gone, it is' \
  $'communityThreadsV1/classify|0|0|0|t\ncommunityThreadsV1/deliverSlack|0|0|0|t' "$(block rollout.md 2)"
equal 'although its queue is not empty' 2 "$(ask 'select count(*) from pgmq.q_communitythreadsv1__classify')"
equal 'lifted, the recorded states are back' \
  $'communityThreadsV1/classify|t|f\ncommunityThreadsV1/deliverSlack|f|f' "$(block rollout.md 3)"
worker 3 1 classify
equal 'the new worker claims what was kept' 1 "$(claim 3)"
equal 'coverage tells which step still lacks one' \
  $'classify|communitythreadsv1__classify|1|t\ndeliverSlack|communitythreadsv1__deliverslack|0|f' "$(block rollout.md 4)"

# --- docs/rollout.md, a new version
worker 4 2 classify
equal 'a version with one of two steps covered is not ready' f "$(block rollout.md 5)"
worker 5 2 deliverSlack
equal 'with both it is' t "$(block rollout.md 5)"
equal 'the old version has work left' 3 "$(block rollout.md 6)"
ask "select pgflow.cancel_run(run_id) from pgflow.runs where flow_slug = 'communityThreadsV1'" >/dev/null
equal 'and none when its runs have ended' 0 "$(block rollout.md 6)"

# --- docs/upgrade.md
equal 'upgrade.md has six blocks' 6 "$(count upgrade.md)"
before=$(states)
equal 'states and processes are recorded' 7 "$(block upgrade.md 1 | wc -l)"
equal 'everything is fenced' 4 "$(block upgrade.md 2 | grep -c '|')"
equal 'nothing is enabled' 0 "$(ask 'select count(*) from pgflow.worker_functions where enabled')"
equal 'a task in hand is not drained' f "$(block upgrade.md 3)"
ask "select pgflow.release_tasks(worker_id), pgflow.mark_worker_stopped(worker_id) from pgflow.workers" >/dev/null
equal 'drained' t "$(block upgrade.md 3)"
block upgrade.md 4 >/dev/null
pgflow migrate up >/dev/null
equal 'the schema has the wanted version' "$(ask 'select max(version) from pgflow.schema_migrations')" "$(block upgrade.md 5)"
block upgrade.md 6 >/dev/null
equal 'only the recorded states come back' "$before" "$(states)"

# --- the same with our commands
pgflow fence communityThreadsV1 --reason 'deployment of r42' --owner ops --wait --timeout 30s -o json >"$folder/fence" 2>"$folder/err" ||
  fail "fence --wait: $(cat "$folder/err")"
token=$(sed -E 's/.*"token" ?: ?"([^"]*)".*/\1/' "$folder/fence")
pgflow unfence communityThreadsV1 --token "$token" >/dev/null || fail 'unfence'
equal 'our commands give the states back, too' "$before" "$(states)"
status=0
pgflow coverage communityThreadsV2 >/dev/null 2>&1 || status=$?
equal 'coverage says no without workers' 1 $status
for page in rollout.md upgrade.md; do
  for verb in $(grep -o '`pgflow [a-z]*\( [a-z]*\)\?' "$docs/$page" | sed 's/`pgflow //; s/ /_/' | sort -u); do
    pgflow ${verb%%_*} --help >/dev/null || fail "$page names a verb that is there: $verb"
  done
done
ok 'all commands of both pages are there'
