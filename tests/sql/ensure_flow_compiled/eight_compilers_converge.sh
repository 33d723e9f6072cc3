# A15: eight workers that start one flow at the same moment converge on one definition: one compiles it, seven verify it.
set -euo pipefail
set -a; . "$1"; set +a
database=sql_compilers_$$
trap 'psql -Xqd postgres -c "drop database if exists $database with (force)"' EXIT
psql -Xqd postgres -v ON_ERROR_STOP=1 -c "create database $database template pgflow_template"

fail() { echo "$*"; exit 1; }
ask() { psql -XqAtd "$database" -v ON_ERROR_STOP=1 -c "$1"; }
shape='{"steps": [{"slug": "a"}, {"slug": "b", "dependencies": ["a"]}, {"slug": "c"}, {"slug": "d"}]}'

# compile_all <flow> <mode>: eight sessions wait for one advisory lock, so that they ask together; prints their answers.
compile_all() {
  local gate out i waiting=0
  coproc gate { psql -XqAtd "$database"; }
  echo "select 'closed' from pg_advisory_lock(77);" >&"${gate[1]}"
  read -r -u "${gate[0]}"
  out=$(mktemp)
  local sessions=()
  for i in 1 2 3 4 5 6 7 8; do
    PGOPTIONS='-c deadlock_timeout=10s' psql -XqAtd "$database" -v ON_ERROR_STOP=1 \
      -c "select pg_advisory_lock_shared(77)" \
      -c "select pgflow.ensure_flow_compiled('$1', '$shape', '$2') ->> 'status'" 2>&1 | grep -v '^$' >>"$out" &
    sessions+=($!)
  done
  local deadline=$((SECONDS + 30))
  until [[ $waiting == 8 ]]; do
    [[ $SECONDS -lt $deadline ]] || fail "only $waiting of 8 sessions reached the gate"
    waiting=$(ask "select count(*) from pg_locks where locktype = 'advisory' and objid = 77 and not granted
      and database = (select oid from pg_database where datname = '$database')")
  done
  echo '\q' >&"${gate[1]}"
  wait "${sessions[@]}"
  sort "$out" | uniq -c | xargs
  rm -f "$out"
}

for mode in step flow; do
  for round in 1 2; do
    answers=$(compile_all "together${mode}$round" $mode)
    [[ $answers == '1 compiled 7 verified' ]] || fail "$mode mode, round $round: $answers"
  done
  [[ $(compile_all "together${mode}1" $mode) == '8 verified' ]] || fail "an existing flow is verified by all"
done
[[ $(ask 'select count(*) from pgflow.flows') == 4 ]] || fail "four flows"
[[ $(ask 'select count(*) from pgmq.list_queues()') == 10 ]] || fail "4 queues a step-mode flow, 1 a plain one"

# Different steps' workers verify side by side: an open transaction that has verified stops nobody.
coproc holder { psql -XqAtd "$database"; }
echo "begin; select pgflow.ensure_flow_compiled('togetherstep1', '$shape', 'step') ->> 'status';" >&"${holder[1]}"
read -r -u "${holder[0]}" status
[[ $status == verified ]] || fail "holder: $status"
[[ $(PGOPTIONS='-c lock_timeout=5s' ask "select pgflow.ensure_flow_compiled('togetherstep1', '$shape', 'step') ->> 'status'") == verified ]] ||
  fail "a second verification waited for the first"
if PGOPTIONS='-c lock_timeout=100ms' ask "select pgflow.delete_flow_and_data('togetherstep1')" 2>/dev/null; then
  fail "a deletion did not wait for an open verification"
fi
echo '\q' >&"${holder[1]}"
