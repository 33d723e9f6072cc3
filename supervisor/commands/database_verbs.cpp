// How the verbs of the schema and the database are called: `migrate …`, `db …`, `sql`.
#include "supervisor/commands/command.hpp"
#include "supervisor/commands/verbs.hpp"

namespace pgflow::cli {

void add_database_verbs(Verbs& verbs) {
  CLI::App& migrate = verbs.group("migrate", "Install or update the schema");
  auto& up = verbs.add<MigrateArguments>(
      migrate, "up", "Bring the schema to this program's version", migrate_up
  );
  up.add_flag("--adopt", up->adopt, "Take over the schema that upstream pgflow installed");
  up.add_database();
  up.add_output();

  auto& down =
      verbs.add<MigrateArguments>(migrate, "down", "Go back, for an older program", migrate_down);
  down.add_option("--to", down->to, "Back to this version (default: one back)")
      ->type_name("VERSION");
  down.add_database();
  down.add_output();

  auto& state = verbs.add(
      migrate, "status", "List migrations (exit code 1 while one is missing)", migrate_status
  );
  state.add_database();
  state.add_output();

  auto& script = verbs.add<MigrateArguments>(
      migrate,
      "sql",
      "Print what up or down would execute",
      [](const Common&, const MigrateArguments& versions) { return migrate_sql(versions); }
  );
  script.add_option("--from", script->from, "The database's version (default: 0, none)")
      ->type_name("VERSION");
  script.add_option("--to", script->to, "The wanted version (default: this program's)")
      ->type_name("VERSION");

  auto& validate = verbs.add(
      migrate,
      "validate",
      "Rehearse up, and compare every function (exit code 1 for a difference)",
      migrate_validate
  );
  validate.add_database();
  validate.add_output();

  CLI::App& db = verbs.group("db", "The database in use");
  auto& url = verbs.add(
      db, "url", "Print where the database is, with the password if there is one", db_url
  );
  url.add_database();
  url.add_output();

  auto& sql = verbs.add<std::string>(
      verbs.app,
      "sql",
      "Print an SQL file for operators",
      [](const Common&, const std::string& name) { return cli::sql(name); }
  );
  sql.add_option("name", *sql, "coverage, prune, roles, pgmq or move-queues")
      ->required()
      ->type_name("NAME");
}

}  // namespace pgflow::cli
