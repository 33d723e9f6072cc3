# For upgrade tests: databases of an earlier state, and what an upgrade must not touch. Source it with the cluster's env
# file as $1 and the program pgflow as $2.
set -euo pipefail
set -a; . "$1"; set +a
pgflow_program=${2:-}
export PGOPTIONS='-c client_min_messages=warning'
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
sql=$here/../../sql

databases=()
cleanup() {
  local database
  for database in "${databases[@]}"; do psql -Xqd postgres -c "drop database if exists $database with (force)"; done
}
trap cleanup EXIT

fail() { echo "not ok: $*"; exit 1; }
ok() { echo "ok: $*"; }
run() { psql -XqAtd "$1" -v ON_ERROR_STOP=1 --single-transaction "${@:2}"; }
ask() { run "$1" -c "$2"; }
pgflow() { PGDATABASE=$1 "$pgflow_program" "${@:2}"; }

# empty <name>
empty() {
  databases+=("$1")
  psql -Xqd postgres -v ON_ERROR_STOP=1 -c "create database $1 template template0 encoding 'UTF8'"
}
# copy <of> <name>
copy() {
  databases+=("$2")
  psql -Xqd postgres -v ON_ERROR_STOP=1 -c "create database $2 template $1"
}
pgmq() { run "$1" -f "$sql/pgmq/schema.sql" -f "$sql/pgmq/queues.sql" -f "$sql/pgmq/messages.sql" >/dev/null; }
# baseline <name>: a populated database that has the first migration only, as our migrator would have left it.
baseline() {
  empty "$1"
  pgmq "$1"
  run "$1" -f "$sql/migrations/0001_baseline.sql" -f "$here/populated.sql" >/dev/null
  run "$1" -c "create table pgflow.schema_migrations (version int primary key, name text not null, checksum text not null,
      applied_at timestamptz not null default now());
    insert into pgflow.schema_migrations values
      (1, '0001_baseline', '$(sha256sum "$sql/migrations/0001_baseline.sql" | cut -d' ' -f1)')"
}

# Everything that upgrades must not touch, the columns that they add left out.
contents() {
  local table queries=()
  for table in pgflow.{flows,steps,deps,runs,step_states,step_tasks,workers,worker_functions} \
    pgmq.{meta,q_orderv1,a_orderv1,q_unused_flow,a_unused_flow}; do
    local added=queue_mode,pid,host_id,revision,crash_count
    [[ $table != pgflow.steps && $table != pgflow.step_tasks ]] || added+=,queue_name
    queries+=(-c "select '$table', to_jsonb(t) - '{$added}'::text[] from $table t order by 2")
  done
  run "$1" "${queries[@]}"
}

# The schema as text; queues are data. pg_dump 15.14 and later add a random word to two lines.
# A database without both schemas has none.
dump() { { pg_dump -sd "$1" -n pgflow -n pgmq -T 'pgmq.[qa]_*' 2>/dev/null || true; } | grep -v '^\\\(un\)\?restrict ' || true; }
# same_dump <database> <database> <fact>
same_dump() { diff <(dump "$1") <(dump "$2") || fail "$3"; ok "$3"; }
