// The SQL of migrations as text. The marker table pgflow.schema_migrations is made here, not by a
// migration.
#include "store/migration_script.hpp"

#include <charconv>
#include <cstddef>

#include "base/bug.hpp"
#include "sql/bundle.hpp"

namespace pgflow::store {
namespace {

// Waiting for another migrator may take as long as that one needs; waiting for tables may not.
constexpr char kBegin[] =
    "begin;\n"
    "set local statement_timeout = 0;\n"
    "set local lock_timeout = 0;\n"
    "set local idle_in_transaction_session_timeout = 0;\n"
    "set local client_min_messages = warning;\n"
    "set local check_function_bodies = off;\n"
    "select pg_advisory_xact_lock(hashtextextended('pgflow.schema', 0));\n"
    "set local lock_timeout = '10s';\n";

constexpr char kMarkerTable[] =
    "create table pgflow.schema_migrations (\n"
    "  version int primary key,\n"
    "  name text not null,\n"
    "  checksum text not null,\n"
    "  applied_at timestamptz not null default now()\n"
    ");\n";

constexpr char kNoLiveWorkers[] = R"sql(
do $$
declare
  v_workers text;
begin
  select string_agg(format('worker %s of %s', w.worker_id, w.function_name), E'\n' order by w.function_name, w.worker_id)
    into v_workers
    from pgflow.workers w
    where w.stopped_at is null and w.last_heartbeat_at > clock_timestamp() - interval '6 seconds';
  if v_workers is not null then
    raise exception using
      errcode = 'object_in_use',
      constraint = 'pgflow_workers_alive',
      message = 'Workers are running; nothing was changed.',
      detail = v_workers,
      hint = 'Stop the supervisors and workers of this database first.';
  end if;
end;
$$;
)sql";

int number_of(std::string_view migration) {
  int number = 0;
  std::from_chars(migration.data(), migration.data() + migration.size(), number);
  if (number == 0) PGFLOW_BUG("a migration's name starts with its number");
  return number;
}

void add(std::string& script, const sql::SqlFile& file) {
  (script += file.text) += '\n';
}

void add_mark(std::string& script, const sql::SqlFile& file) {
  script += "insert into pgflow.schema_migrations (version, name, checksum) values (" +
            std::to_string(number_of(file.name)) + ", '" + std::string(file.name) + "', '" +
            std::string(file.checksum) + "');\n";
}

// The extension where the server offers it, our SQL otherwise; ours is brought up to date.
void add_pgmq(std::string& script) {
  script +=
      "\ndo $pgmq$\nbegin\n"
      "  if to_regnamespace('pgmq') is null then\n"
      "    if exists (\n"
      "      select from pg_catalog.pg_available_extensions a where a.name = 'pgmq'\n"
      "        and string_to_array(substring(a.default_version from '^\\d+\\.\\d+'), '.')::int[] "
      ">= "
      "'{1,5}'\n"
      "    ) then\n"
      "      create extension pgmq;\n"
      "    else\n"
      "      execute $ours$\n";
  bool makes_schema = true;
  for (const sql::SqlFile& file : sql::pgmq()) {
    add(script, file);
    if (makes_schema) {
      script +=
          "$ours$;\n    end if;\n  end if;\n"
          "  if to_regprocedure('pgmq._fallback_version()') is not null then\n"
          "    execute $ours$\n";
    }
    makes_schema = false;
  }
  script += "$ours$;\n  end if;\nend;\n$pgmq$;\n";
}

// Grants follow the functions where the roles of sql/operator/roles.sql are in use.
void add_roles(std::string& script) {
  for (const sql::SqlFile& file : sql::operator_files()) {
    if (file.name != "roles") continue;
    script +=
        "\ndo $roles$\nbegin\n"
        "  if exists (\n"
        "    select from pg_catalog.pg_roles r\n"
        "      where r.rolname = 'pgflow_worker' and has_schema_privilege(r.oid, 'pgflow', "
        "'usage')\n"
        "  ) then\n"
        "    execute $pgflow_roles$\n";
    add(script, file);
    script += "$pgflow_roles$;\n  end if;\nend;\n$roles$;\n";
  }
}

void add_functions(std::string& script) {
  for (const sql::SqlFile& file : sql::functions()) add(script, file);
  add_roles(script);
}

// Every function that we would install, in whatever form; those that constraints need stay.
void add_drop_functions(std::string& script) {
  script +=
      "\ndo $$\n"
      "declare\n"
      "  v_function regprocedure;\n"
      "begin\n"
      "  for v_function in\n"
      "    select p.oid from pg_catalog.pg_proc p\n"
      "      where p.pronamespace = 'pgflow'::regnamespace\n"
      "        and p.proname = any ('" +
      function_names() +
      "')\n"
      "        and not exists (\n"
      "          select from pg_catalog.pg_depend d\n"
      "            where d.refclassid = 'pg_catalog.pg_proc'::regclass and d.refobjid = p.oid\n"
      "        )\n"
      "  loop\n"
      "    execute format('drop routine %s', v_function);\n"
      "  end loop;\n"
      "end;\n"
      "$$;\n";
}

void add_migrations(std::string& script, int from, int to) {
  for (const sql::SqlFile& file : sql::migrations()) {
    const int version = number_of(file.name);
    if (version <= from || version > to) continue;
    script += '\n';
    add(script, file);
    // The first migration makes the schema in which the marker table lives.
    if (version == 1) script += kMarkerTable;
    add_mark(script, file);
  }
}

}  // namespace

int newest_version() {
  return number_of(sql::migrations().back().name);
}

std::string_view migration_name(int version) {
  return sql::migrations()[static_cast<std::size_t>(version - 1)].name;
}

std::string begin_script() {
  return kBegin;
}

std::string up_script(int from, int to) {
  std::string script;
  add_pgmq(script);
  add_migrations(script, from, to);
  if (to == newest_version()) add_functions(script);
  return script;
}

std::string adoption_script() {
  std::string script;
  for (const sql::SqlFile& file : sql::adoption()) add(script, file);
  script += kMarkerTable;
  add_mark(script, sql::migrations().front());
  add_pgmq(script);
  add_migrations(script, 1, newest_version());
  add_drop_functions(script);
  add_functions(script);
  return script;
}

std::string down_script(int from, int to) {
  std::string script = kNoLiveWorkers;
  add_drop_functions(script);  // some have tables in their signatures
  for (int version = from; version > to; --version) {
    for (const sql::SqlFile& file : sql::downs()) {
      if (number_of(file.name) == version) add(script, file);
    }
    script +=
        "delete from pgflow.schema_migrations where version = " + std::to_string(version) + ";\n";
  }
  return script;
}

std::string function_names() {
  std::string names = "{";
  for (const sql::SqlFile& file : sql::functions())
    (names += names.size() == 1 ? "" : ",") += file.name;
  return names + "}";
}

std::string standalone_script(int from, int to) {
  std::string script = kBegin;
  const std::string version = std::to_string(from);
  script +=
      "\ndo $$\n"
      "declare\n"
      "  v_version int := 0;\n"
      "begin\n"
      "  if to_regclass('pgflow.schema_migrations') is not null then\n"
      "    select max(m.version) into v_version from pgflow.schema_migrations m;\n"
      "  end if;\n"
      "  if v_version <> " +
      version +
      " then\n"
      "    raise exception 'This script needs schema version " +
      version +
      ", the database has %.', v_version;\n"
      "  end if;\n"
      "end;\n"
      "$$;\n";
  script += from <= to ? up_script(from, to) : down_script(from, to);
  return script + "\ncommit;\n";
}

}  // namespace pgflow::store
