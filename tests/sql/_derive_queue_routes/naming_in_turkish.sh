# A26: in a database whose own lower('I') is a dotless i, queue names are the same ASCII names.
set -euo pipefail
set -a; . "$1"; set +a
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
if (($(psql -XAtqd postgres -c 'show server_version_num') < 150000)); then
  echo "skipped: a database's locale cannot come from ICU before PostgreSQL 15"
  exit 77
fi
database=sql_turkish_$$
trap 'psql -Xqd postgres -c "drop database if exists $database with (force)"' EXIT
psql -Xqd postgres -v ON_ERROR_STOP=1 \
  -c "create database $database template template0 encoding 'UTF8' locale_provider icu icu_locale 'tr-TR'"
psql -XqAtd "$database" -v ON_ERROR_STOP=1 -f "$2" >/dev/null 2>&1

ask() { psql -XqAtd "$database" -v ON_ERROR_STOP=1 -c "$1"; }
expect() {
  local got
  got=$(ask "$1")
  [[ $got == "$2" ]] || { echo "for: $1"; echo "got: $got"; echo "want: $2"; exit 1; }
}
expect "select lower('I')" 'ı'
expect "select pgflow.ensure_flow_compiled('InvoiceINIT', '{\"steps\": [{\"slug\": \"Identify\"}, {\"slug\": \"ITEM\"}]}', 'step') ->> 'status'" compiled
expect "select string_agg(queue_name, ' ' order by step_index) from pgflow.steps" 'invoiceinit__identify invoiceinit__item'
expect "select pgflow.ensure_flow_compiled('InvoiceINIT', '{\"steps\": [{\"slug\": \"Identify\"}, {\"slug\": \"ITEM\"}]}', 'step') ->> 'status'" verified
expect "select count(*) from pgmq.read('INVOICEINIT__ITEM', 1, 1)" 0
expect "select (pgflow.create_flow('PLAIN_I')).flow_slug" PLAIN_I
expect "select string_agg(queue_name, ' ' order by queue_name) from pgmq.list_queues()" 'invoiceinit__identify invoiceinit__item plain_i'
expect "select count(*) from pgflow.delete_flow_and_data('InvoiceINIT')" 1
expect "select string_agg(queue_name, ' ' order by queue_name) from pgmq.list_queues()" plain_i

# All the naming vectors once more, in a clone of this database.
"$here/../../support/install_pgtap" "$database"
"$here/../../support/run_sql_test" "$1" "$here/naming_vectors.sql" "$database" | grep -v '^ok'
