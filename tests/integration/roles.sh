#!/usr/bin/env bash
# The supervisor runs as an operator and its workers as workers, in a database whose owner is neither: a run completes, a
# killed worker is replaced, and a reader sees it all. Arguments: the cluster's env file, the folder of the programs.
set -euo pipefail
set -a; . "$1"; set +a
bin=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=$(mktemp -d) database=roles_$$ supervisor=
cleanup() {
  [[ -z $supervisor ]] || { kill -TERM "$supervisor" && wait "$supervisor"; } || true
  psql -Xqd postgres -c "drop database if exists $database with (force)" -c "drop role if exists worker_$$, reader_$$, operator_$$, stranger_$$"
  rm -rf "$folder"
}
trap cleanup EXIT
fail() { echo "not ok: $*"; cat "$folder/log" 2>/dev/null || true; exit 1; }

psql -Xqd postgres -v ON_ERROR_STOP=1 -c "create database $database template pgflow_template"
"$bin/pgflow" sql roles | psql -Xqd "$database" -v ON_ERROR_STOP=1 -1
for role in worker reader operator; do
  psql -Xqd postgres -v ON_ERROR_STOP=1 -c "create role ${role}_$$ login in role pgflow_$role"
done
psql -Xqd postgres -v ON_ERROR_STOP=1 -c "create role stranger_$$ login"
# A new installation of the functions keeps the grants.
PGDATABASE=$database "$bin/pgflow" migrate up >/dev/null
url() { echo "postgresql:///$database?host=$PGHOST&port=$PGPORT&user=$1_$$"; }

cat >"$folder/pgflow.json" <<CONFIG
{
  "version": 1,
  "supervisor": { "state_dir": "$folder/state" },
  "flows": [{
    "slug": "communityThreadsV1",
    "queue_mode": "step",
    "worker": { "command": ["$bin/community_threads"], "env": { "DATABASE_URL": "$(url worker)" } },
    "steps": { "classify": { "processes": 1, "max_concurrent": 4 }, "deliverSlack": { "processes": 1, "max_concurrent": 1 } }
  }]
}
CONFIG
# A role that was granted nothing.
status=0
DATABASE_URL=$(url stranger) "$bin/pgflow" up -c "$folder/pgflow.json" >"$folder/out" 2>&1 || status=$?
[[ $status == 77 ]] && grep -q '^hint: .*pgflow sql roles' "$folder/out" || fail "a stranger is told what to grant: $status $(cat "$folder/out")"

DATABASE_URL=$(url operator) "$bin/pgflow" up -c "$folder/pgflow.json" >"$folder/log" 2>&1 &
supervisor=$!
covered() { "$bin/pgflow" coverage communityThreadsV1 --wait --timeout 60s -d "$(url reader)" >"$folder/coverage" 2>&1 || fail "covered: $(cat "$folder/coverage")"; }
until [[ $(psql -XAtqd "$database" -c 'select count(*) from pgflow.flows') == 1 ]]; do
  kill -0 "$supervisor" || fail 'the supervisor compiles the flow'
  read -rt 0.1 <> <(:) || true
done
covered
[[ $(psql -XAtqd "$database" -c "select distinct usename from pg_stat_activity where application_name like 'pgflow:%' and datname = current_database()") == "worker_$$" ]] ||
  fail 'workers are connected as workers'

start() { "$bin/pgflow" run start communityThreadsV1 --input '{"thread_id":"T1","author":"mila","text":"It works."}' --wait --timeout 60s -d "$(url operator)" >/dev/null || fail "$1"; }
start 'a run completes'

# The supervisor may end the sessions of a dead worker and give its tasks back.
victim=$(psql -XAtqd "$database" -c "select pid from pgflow.workers where stopped_at is null and function_name like '%classify' limit 1")
kill -KILL "$victim"
until [[ $(psql -XAtqd "$database" -c "select stopped_at is not null from pgflow.workers where pid = $victim") == t ]]; do
  kill -0 "$supervisor" || fail 'the supervisor goes on'
  read -rt 0.1 <> <(:) || true
done
covered
start 'a run completes after a worker was killed'

for verb in 'status' 'run list' 'coverage'; do
  "$bin/pgflow" $verb -d "$(url reader)" >"$folder/out" 2>&1 || fail "a reader looks at $verb: $(cat "$folder/out")"
done
status=0
"$bin/pgflow" run start communityThreadsV1 --input '{"thread_id":"T2","author":"mila","text":"No."}' -d "$(url reader)" >"$folder/out" 2>&1 || status=$?
[[ $status == 77 ]] || fail "a reader starts nothing: $status $(cat "$folder/out")"
grep -q 'permission denied' "$folder/log" && fail 'nobody was refused anything'
echo 'ok: supervisor, workers and readers work with the rights of their roles'
