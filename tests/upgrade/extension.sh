# Where the server offers the extension pgmq, it is used; and queues move from ours to the extension and back, ids and all.
# The server has a folder of extensions of its own, with a stand-in for pgmq made of our SQL.
. "$(dirname "$0")/support.bash"

for candidate in "$(pg_config --bindir 2>/dev/null || true)" $(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -rV); do
  [[ ! -x $candidate/initdb ]] || { bin=$candidate; break; }
done
version=$("$bin/postgres" -V | sed 's/.* \([0-9]*\)\..*/\1/')
[[ $bin == /usr/lib/postgresql/$version/bin ]] || { echo "skipped: only a server in Debian's folders can be copied"; exit 0; }

root=$(mktemp -d /tmp/pgflow-test.XXXXXX)
server() { if [[ $(id -u) == 0 ]]; then setpriv --reuid=postgres --regid=postgres --init-groups env HOME="$root" "$@"; else "$@"; fi; }
stop() {
  [[ ! -f $root/data/postmaster.pid ]] || server "$root/lib/postgresql/$version/bin/pg_ctl" -D "$root/data" -s -m immediate stop || true
  rm -rf "$root"
}
trap stop EXIT

# PostgreSQL finds its folders beside its program, so a copy of the program has its own.
mkdir -p "$root/lib/postgresql/$version/bin" "$root/share/postgresql"
cp "$bin/postgres" "$bin/pg_ctl" "$bin/initdb" "$root/lib/postgresql/$version/bin/"
ln -s "/usr/lib/postgresql/$version/lib" "$root/lib/postgresql/$version/lib"
cp -r "/usr/share/postgresql/$version" "$root/share/postgresql/$version"
extensions=$root/share/postgresql/$version/extension
# offer <version>: the extension of that version can be created from now on.
offer() {
  printf "default_version = '%s'\nschema = 'pgmq'\nrelocatable = false\nsuperuser = false\n" "$1" >"$extensions/pgmq.control"
  {
    sed '/^create schema pgmq;/d; /^comment on schema pgmq/d; /^-- Marks/,/^as/d' "$sql/pgmq/schema.sql"
    cat "$sql/pgmq/queues.sql" "$sql/pgmq/messages.sql"
  } >"$extensions/pgmq--$1.sql"
}
[[ $(id -u) != 0 ]] || chown -R postgres "$root"
server "$root/lib/postgresql/$version/bin/initdb" -D "$root/data" -U postgres -A trust -E UTF8 --no-locale --no-sync >"$root/initdb.log" ||
  fail "initdb: $(cat "$root/initdb.log")"
printf "listen_addresses = ''\nunix_socket_directories = '%s'\nfsync = off\n" "$root" >>"$root/data/postgresql.conf"
server "$root/lib/postgresql/$version/bin/pg_ctl" -D "$root/data" -w -s -t 60 -l "$root/server.log" start || fail "$(cat "$root/server.log")"
export PGHOST=$root PGPORT=5432 PGUSER=postgres
state() { pgflow "$1" migrate status -o json | sed -n 's/.*"pgmq": *"\([a-z]*\)".*/\1/p'; }
works() {
  [[ $(ask "$1" "select count(*) from pgflow.start_flow('moved', '1')") == 1 ]] || fail "$2: a run starts"
  [[ $(ask "$1" "select count(*) from pgflow.start_tasks('moved', array(select msg_id from pgmq.read('moved__a', 30, 10)), '$worker', 'moved__a', 'a')") == "$3" ]] ||
    fail "$2: its tasks and those from before are claimed"
  [[ $(ask "$1" "select count(*) from pgflow.step_tasks t cross join lateral pgflow.complete_task(t.run_id, 'a', 0, '1') where t.status = 'started'") == "$3" ]] ||
    fail "$2: and completed"
  [[ $(ask "$1" "select count(*) from pgflow.step_tasks t where t.status = 'completed'
    and not exists (select from pgmq.a_moved__a a where a.msg_id = t.message_id)") == 0 ]] || fail "$2: every message is archived under its id"
  ok "$2"
}
worker=00000000-0000-4000-8000-00000000000b

# Without the extension ours is installed, and filled.
empty ours
pgflow ours migrate up >/dev/null
[[ $(state ours) == fallback ]] || fail "ours: $(state ours)"
run ours -c "select pgflow.ensure_flow_compiled('moved', '{\"steps\": [{\"slug\": \"a\"}]}', 'step')" \
  -c "select pgflow.register_worker('$worker', 'moved__a', 'moved/a')" -c "select pgflow.start_flow('moved', '0') from generate_series(1, 3)" >/dev/null
works ours 'our PGMQ' 4
run ours -c "select pgflow.start_flow('moved', '0') from generate_series(1, 2)" -c "select pgmq.create('Mixed'), pgmq.create('mixed'), pgmq.create_unlogged('fast')" \
  -c "select pgmq.send('mixed', '1', '{\"h\": 1}', 3600), pgmq.archive('mixed', pgmq.send('mixed', '2')), pgmq.delete('fast', pgmq.send('fast', '3'))" >/dev/null
queues() { run "$1" -c "select queue_name, is_unlogged from pgmq.list_queues() order by queue_name collate \"C\"" \
  -c 'select to_jsonb(q) from pgmq.q_moved__a q order by msg_id' -c 'select to_jsonb(a) from pgmq.a_moved__a a order by msg_id' \
  -c 'select to_jsonb(q) from pgmq.q_mixed q' -c 'select to_jsonb(a) from pgmq.a_mixed a' -c "select pgmq.metrics('fast')" -c "select total_messages from pgmq.metrics_all() order by 1" | sed 's/"[0-9: .+-]*",[0-9]*)$/)/'; }
before=$(queues ours)

# An extension that is too old is not taken.
offer 1.4.5
empty old
pgflow old migrate up >/dev/null
[[ $(state old) == fallback ]] || fail "too old an extension: $(state old)"
ok 'an extension before 1.5 is not taken'

offer 1.6.1
empty fresh
[[ $(state fresh) == offered ]] || fail "offered: $(state fresh)"
pgflow fresh migrate up >/dev/null
[[ $(state fresh) == extension && $(ask fresh "select extversion from pg_extension where extname = 'pgmq'") == 1.6.1 ]] || fail "taken: $(state fresh)"
ok 'an extension that is offered is created'
"$pgflow_program" migrate sql >"$root/install.sql"
empty by_hand
psql -XqAtd by_hand -v ON_ERROR_STOP=1 -f "$root/install.sql" >/dev/null
[[ $(state by_hand) == extension ]] || fail "by hand: $(state by_hand)"
same_dump fresh by_hand 'the printed installation is the one that migrate up makes'

# Ours stays ours until it is told otherwise; the extension cannot be created over it.
pgflow ours migrate up >/dev/null
[[ $(state ours) == fallback ]] || fail 'an existing schema stays'
if ask ours 'create extension pgmq' >"$root/out" 2>&1; then fail 'the extension over our schema'; fi
grep -q 'already exists' "$root/out" || fail "the extension over our schema: $(cat "$root/out")"
ok 'the extension cannot be created over our schema'

# The documented way there and back.
{
  echo 'begin; alter schema pgmq rename to pgmq_before; create extension pgmq;'
  "$pgflow_program" sql move-queues
  echo 'drop schema pgmq_before cascade; commit;'
} | psql -XqAtd ours -v ON_ERROR_STOP=1 >/dev/null
[[ $(state ours) == extension ]] || fail "moved to the extension: $(state ours)"
[[ $(queues ours) == "$before" ]] || fail "queues are what they were: $(diff <(echo "$before") <(queues ours))"
works ours 'moved to the extension' 3
run ours -c "select pgflow.start_flow('moved', '0') from generate_series(1, 2)" >/dev/null
before=$(queues ours)
{
  echo 'begin; alter schema pgmq rename to pgmq_before;'
  "$pgflow_program" sql pgmq
  "$pgflow_program" sql move-queues
  echo 'drop extension pgmq cascade; drop schema if exists pgmq_before cascade; commit;'
} | psql -XqAtd ours -v ON_ERROR_STOP=1 >/dev/null
[[ $(state ours) == fallback ]] || fail "moved back: $(state ours)"
[[ $(queues ours) == "$before" ]] || fail "queues are what they were: $(diff <(echo "$before") <(queues ours))"
works ours 'moved back to ours' 3
pgflow ours migrate validate | grep -q ' valid' || fail "valid: $(pgflow ours migrate validate)"
ok 'and the schema is valid'
