# For SQL tests with several sessions: a database of its own and sessions in the background.
# Source it with the cluster's env file as $1. A failed session or check makes the test fail.
set -euo pipefail
[[ -f $1 ]] || { echo "no $1; is the test cluster running?" >&2; exit 1; }
set -a
. "$1"
set +a
export PGOPTIONS='-c client_min_messages=warning'
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
scratch=$(mktemp -d)
export PGDATABASE=sessions_$$
psql -Xqd postgres -v ON_ERROR_STOP=1 -c "create database $PGDATABASE template pgflow_template"
trap 'jobs -p | xargs -r kill 2>/dev/null || true; wait; rm -rf "$scratch"
  PGOPTIONS= psql -Xqd postgres -c "drop database if exists $PGDATABASE with (force)"' EXIT

# sql [psql options]: runs standard input, stops at the first error.
sql() { psql -XAtq -v ON_ERROR_STOP=1 "$@"; }

# session <name> <statement>: runs it in the background, join waits for all and fails with the first that failed.
pids=() names=()
session() {
  psql -XAtq -v ON_ERROR_STOP=1 -c "$2" >"$scratch/$1" 2>&1 &
  pids+=($!) names+=("$1")
}
join() {
  local i failed=0
  for i in "${!pids[@]}"; do
    wait "${pids[$i]}" || { echo "session ${names[$i]} failed:"; cat "$scratch/${names[$i]}"; failed=1; }
  done
  pids=() names=()
  return $failed
}

# eventually <seconds> <sentence> <query>: waits until the query answers t.
eventually() {
  local until=$((SECONDS + $1))
  while [[ $(sql -c "$3") != t ]]; do
    ((SECONDS < until)) || { echo "not ok: $2"; exit 1; }
    read -rt 0.02 <> <(:) || true
  done
  echo "ok: $2"
}

# equal <fact> <expected> <actual>
equal() {
  [[ $2 == "$3" ]] || { echo "not ok: $1: expected '$2', got '$3'"; exit 1; }
  echo "ok: $1"
}
