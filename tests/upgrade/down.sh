# `migrate down` leads back to exactly the earlier schema, keeps every row, and refuses where something would be lost.
. "$(dirname "$0")/support.bash"

database=down_$$
baseline "$database"
before=$(contents "$database")
fresh=$(dump "$database")
pgflow "$database" migrate up >/dev/null
newest=$(dump "$database")
[[ $(ask "$database" "select pgflow.configure_events(array['notify'])" && ask "$database" 'select version from pgflow.schema_migrations order by 1 desc limit 1') == *5 ]] ||
  fail "version 5 is the newest"

# refused <what> <expected text> <arguments…>
refused() {
  local output status=0 untouched
  untouched=$(contents "$database")$(dump "$database")
  output=$(pgflow "$database" migrate down "${@:3}" 2>&1) || status=$?
  [[ $status != 0 && $output == *"$2"* && $output == *hint:* ]] || fail "$1: status $status, $output"
  [[ $(contents "$database")$(dump "$database") == "$untouched" ]] || fail "$1: something changed"
  ok "$1"
}

ask "$database" "select pgflow.register_worker('00000000-0000-4000-8000-00000000000b', 'orderv1', 'order')" >/dev/null
refused 'not while workers run' 'worker 00000000-0000-4000-8000-00000000000b of order' --to 2
ask "$database" "delete from pgflow.workers where worker_id = '00000000-0000-4000-8000-00000000000b'"
ask "$database" "update pgflow.step_tasks set crash_count = 1 where step_slug = 'eachLine' and task_index = 0"
refused 'not while crashes are counted' 'task eachLine[0] of run 00000000-0000-4000-8000-000000000001: 1 crash(es)' --to 2
ask "$database" "update pgflow.step_tasks set crash_count = 0"
fence=00000000-0000-4000-8000-0000000000fe
ask "$database" "select pgflow.fence_functions('$fence', 'secret', array['other'], 'me', 'deployment')" >/dev/null
refused 'not while a fence stands' "fence $fence of me around other" --to 2
ask "$database" "select pgflow.unfence_functions('$fence', 'secret'); delete from pgflow.worker_functions where function_name = 'other'" >/dev/null
ask "$database" "select pgflow.ensure_flow_compiled('stepped', '{\"steps\": [{\"slug\": \"a\"}]}', 'step')" >/dev/null
refused 'not with flows in step mode, all or nothing' 'flow "stepped" is in step mode' --to 1
ask "$database" "select pgflow.delete_flow_and_data('stepped')" >/dev/null
refused 'not below the first' 'drop schema pgflow cascade' --to 0
refused 'not forward' 'not an earlier version' --to 6

# The text of the way back is what is executed.
copy "$database" "down_by_hand_$$"
pgflow "$database" migrate down | grep -q '0005_lean_tasks undone' || fail "one back is the default"
pgflow "$database" migrate down --to 2 | grep -q '0003_supervised_workers undone' || fail "and further"
"$pgflow_program" migrate sql --from 5 --to 2 | psql -XqAtd "down_by_hand_$$" -v ON_ERROR_STOP=1 >/dev/null
same_dump "$database" "down_by_hand_$$" "migrate sql prints what migrate down does"
ask "$database" "select count(*) from pg_proc where pronamespace = 'pgflow'::regnamespace and proname not in ('_emit', '_emits')" | grep -qx 0 ||
  fail "functions of a newer program are left"


pgflow "$database" migrate down --to 1 >/dev/null
same_before=$(contents "$database" | sed 's/"updated_at": "[^"]*"/x/')
[[ $same_before == "$(sed 's/"updated_at": "[^"]*"/x/' <<<"$before")" ]] || fail "rows changed: $(diff <(echo "$before") <(contents "$database"))"
ask "$database" "drop function pgflow._emit(jsonb, text, text), pgflow._emits()"
[[ $(dump "$database") == "$fresh" ]] || fail "version 1 differs from a fresh one: $(diff <(echo "$fresh") <(dump "$database"))"
ok "back at the first version, rows and tables are what they were"
pgflow "$database" migrate up >/dev/null
[[ $(dump "$database") == "$newest" ]] || fail "up again differs: $(diff <(echo "$newest") <(dump "$database"))"
ok "and up again"
