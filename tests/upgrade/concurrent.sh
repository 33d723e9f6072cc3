# Eight installers at once make one installation, all of them report success, and each migration is applied once.
. "$(dirname "$0")/support.bash"

# all_at_once <database> <fact>
all_at_once() {
  local pids=() pid n output
  output=$(mktemp -d)
  for n in {1..8}; do
    pgflow "$1" migrate up -o json >"$output/$n" 2>&1 &
    pids+=($!)
  done
  for pid in "${pids[@]}"; do wait "$pid" || fail "$2: $(cat "$output"/*)"; done
  [[ $(cat "$output"/* | grep -c '"0003_supervised_workers"') == 1 ]] || fail "$2: one of them applied it: $(cat "$output"/*)"
  rm -r "$output"
  same_dump pgflow_template "$1" "$2"
}
empty "concurrent_$$"
all_at_once "concurrent_$$" 'into an empty database'
baseline "concurrent_old_$$"
all_at_once "concurrent_old_$$" 'into an older one'

# A table that somebody uses is waited for, with an end: nothing changed, exit code 75.
baseline "concurrent_busy_$$"
untouched=$(dump "concurrent_busy_$$")
coproc holder { psql -XAtqd "concurrent_busy_$$" 2>&1; }
holder_pid=$holder_PID answers=${holder[0]} orders=${holder[1]}
echo "begin; lock table pgflow.step_tasks; select 'held';" >&"$orders"
read -rt 30 -u "$answers" held
[[ $held == held ]] || fail "the lock is held: $held"
status=0
output=$(pgflow "concurrent_busy_$$" migrate up 2>&1) || status=$?
[[ $status == 75 && $output == *'somebody else holds a lock'* && $output == *hint:* ]] || fail "a bounded wait: $status $output"
echo 'rollback; \q' >&"$orders"
wait "$holder_pid" || true
[[ $(dump "concurrent_busy_$$") == "$untouched" ]] || fail "a bounded wait leaves everything as it was"
ok 'a lock is waited for 10 seconds, then nothing was changed'
