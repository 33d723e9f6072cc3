# `migrate validate` rehearses an update without leaving a trace: offenders, changed migrations and drifted functions.
. "$(dirname "$0")/support.bash"

database=validate_$$
copy pgflow_template "$database"
# finds <fact> <exit code> <expected text…>
finds() {
  local output status=0 untouched text
  untouched=$(dump "$database")
  output=$(pgflow "$database" migrate validate 2>&1) || status=$?
  [[ $status == "$2" ]] || fail "$1: status $status, $output"
  for text in "${@:3}"; do [[ $output == *"$text"* ]] || fail "$1: \"$text\" is not in: $output"; done
  [[ $(dump "$database") == "$untouched" ]] || fail "$1: validating changed the schema"
  ok "$1"
}
finds 'a fresh schema is valid' 0 'version 5  valid' 'functions as shipped'

ask "$database" "create or replace function pgflow.is_local() returns boolean language sql stable set search_path = pg_catalog, pg_temp as 'select true';
  drop function pgflow.heartbeat(uuid);
  grant execute on function pgflow.schema_version() to public;
  create or replace function pgmq.validate_queue_name(queue_name text) returns void language sql immutable as '';
  create function pgflow.my_own() returns int language sql as 'select 1'"
finds 'functions that differ or are missing are named' 1 'pgflow.is_local() is not as this program ships it' \
  'pgflow.heartbeat(uuid) is missing' 'pgflow.schema_version() is not as' 'pgmq.validate_queue_name(text) is not as'
[[ $(pgflow "$database" migrate validate -o json | tr -d ' \n') == *'"valid":false'*'"kind":"function_missing"'* ]] || fail 'as JSON'
[[ $(pgflow "$database" migrate validate) != *my_own* ]] || fail "the user's own function is nobody's business"
pgflow "$database" migrate up >/dev/null
finds 'migrate up puts them back' 0 valid
[[ $(ask "$database" 'select pgflow.my_own()') == 1 ]] || fail "the user's own function stays"

ask "$database" "update pgflow.schema_migrations set checksum = 'deadbeef' where version = 2"
finds 'a changed migration' 1 'An applied migration differs' '0002_step_queues'
ask "$database" "delete from pgflow.schema_migrations where version = 2"
finds 'a hole among the migrations' 1 'Migration 0002_step_queues is not recorded'
ask "$database" "insert into pgflow.schema_migrations values (99, 'x', 'x')"
finds 'a newer schema' 1 'newer than this program'

database=validate_old_$$
baseline "$database"
ask "$database" "insert into pgflow.flows (flow_slug) values ('a__b'), ('_x')"
finds 'offenders, before the update is tried' 1 'older than this program' 'flow "a__b"' 'flow "_x"'
ask "$database" "delete from pgflow.flows where flow_slug in ('a__b', '_x')"
finds 'an old schema without offenders is only old' 1 'older than this program'
database=validate_none_$$
empty "$database"
finds 'no schema' 1 'no schema pgflow'
