#!/usr/bin/env bash
# An example does what its README shows: the commands of the README's console block are run against a copy of the example
# under `pgflow up`, and what they print is compared with what stands there. Ids, times and durations may differ.
# Arguments: the cluster's env file, the folder of the programs, the example's folder.
set -euo pipefail
. "${BASH_SOURCE[0]%/*}/../support/shown.sh"
set -a; . "$1"; set +a
bin=$2 example=$3
name=$(basename "$example")
folder=$(mktemp -d) database=example_${name}_$$ supervisor=
cleanup() {
  [[ -z $supervisor ]] || { kill -TERM "$supervisor" && wait "$supervisor"; } 2>/dev/null || true
  psql -Xqd postgres -c "drop database if exists $database with (force)"
  rm -rf "$folder"
}
trap cleanup EXIT
exec 3>&1
fail() { { echo "not ok: $*"; cat "$folder/log"; } >&3; exit 1; }

psql -Xqd postgres -v ON_ERROR_STOP=1 -c "create database $database template pgflow_template"
export DATABASE_URL="postgresql:///$database?host=$PGHOST&port=$PGPORT&user=$PGUSER"
cp -R "$example" "$folder/copy"
cp -R "$example/../helpers" "$folder/helpers"
cd "$folder/copy"
sed -i "s#\.\./\.\./build/release/bin#$bin#; s#\.\./\.\./build/$name#$folder/state#" pgflow.json

export PATH=$bin:$PATH
pgflow up >>"$folder/log" 2>&1 &
supervisor=$!
pgflow() { timeout 100 pgflow "$@"; }
flows=$(grep -c '"slug"' pgflow.json)
until [[ $(psql -XAtqd "$database" -c 'select count(*) from pgflow.flows') == "$flows" ]]; do
  kill -0 "$supervisor" || fail 'the supervisor compiles the flows'
  read -rt 0.1 <> <(:) || true
done
pgflow coverage --wait >"$folder/coverage" 2>&1 || fail "every step has a live worker: $(cat "$folder/coverage")"

prints_what_it_shows README.md "$folder" "$folder/log" || fail 'it prints what its README shows'

kill -TERM "$supervisor"
wait "$supervisor" || fail "the supervisor ends with 0"
supervisor=
echo "ok: $name"
