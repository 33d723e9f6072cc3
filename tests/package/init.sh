#!/usr/bin/env bash
# init.sh LANG BUILD COMPILER LAUNCHER: what `pgflow init` makes builds, passes its test and runs under `pgflow dev`, as its
# README says, for somebody who has nothing but an installed pgflow.
set -euo pipefail
. "${BASH_SOURCE[0]%/*}/../support/shown.sh"
lang=$1 build=$2
export CXX=$3 CMAKE_CXX_COMPILER_LAUNCHER=$4
folder=$(mktemp -d) dev=
chmod 755 "$folder" # root's PostgreSQL runs as another user
cleanup() {
  [[ -z $dev ]] || { kill -TERM "$dev" && wait "$dev"; } 2>/dev/null || true
  rm -rf "$folder"
}
trap cleanup EXIT
touch "$folder/log"
fail() { echo "not ok: $*"; cat "$folder/log"; exit 1; }
unset "${!PG@}" "${!PGFLOW_@}" DATABASE_URL EDGE_WORKER_DB_URL CLICOLOR_FORCE

cmake --install "$build" --prefix "$folder/prefix" >"$folder/install.log"
export PATH=$folder/prefix/bin:$PATH
cd "$folder"
pgflow init word-count --lang "$lang" >"$folder/said"
grep -qx '  cd word-count' "$folder/said" || fail "it says what to do next: $(cat "$folder/said")"
cd word-count
grep -q '^# wordCountV1$' README.md || fail 'the flow is named after the folder'
if grep -r helloV1 .; then fail "the template's own slug is left"; fi

# The README's first block builds and tries the project; its last command calls a handler.
sed -n '/^```sh$/,/^```$/{//!p;/^```$/q}' README.md >"$folder/first_block"
bash -euo pipefail "$folder/first_block" >"$folder/tried" 2>>"$folder/log" || fail "its first commands: $(cat "$folder/tried")"
[[ $(tail -1 "$folder/tried" | tr -d ' ') == '{"text":"HelloAda"}' ]] || fail "the handler gives $(tail -1 "$folder/tried")"

pgflow dev >"$folder/screen" 2>>"$folder/log" &
dev=$!
until grep -q 'Stop .*Ctrl-C' "$folder/screen"; do
  kill -0 "$dev" || fail 'pgflow dev starts'
  read -rt 0.1 <> <(:) || true
done
grep -q '2/2 steps covered' "$folder/screen" || fail "every step has a worker: $(cat "$folder/screen")"
prints_what_it_shows README.md "$folder" "$folder/log" || fail 'it prints what its README shows'
# What init said to do next, on a terminal; it names the way to the output.
said=$(script -qec "$(grep 'pgflow run start' "$folder/said")" /dev/null)
[[ $said =~ hint:.*(pgflow run show [0-9a-f-]{36}) ]] || fail "a run that was waited for can be looked at: $said"
${BASH_REMATCH[1]} | grep -qF '{"shout":"Hello Ada!"}' || fail "the output is shown: ${BASH_REMATCH[1]}"
# Not INT: a shell's background job ignores it.
kill -TERM "$dev"
wait "$dev" || fail "pgflow dev ends with 0: $(cat "$folder/screen")"
dev=
echo "ok: $lang"
