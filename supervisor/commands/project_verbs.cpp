// How the verbs that make a project or run it are called: `init`, `dev`, `up`.
#include "supervisor/commands/command.hpp"
#include "supervisor/commands/verbs.hpp"

namespace pgflow::cli {

void add_project_verbs(Verbs& verbs) {
  auto& init = verbs.add<InitArguments>(
      verbs.app, "init", "Make a new project, a flow that builds and runs as it stands", cli::init
  );
  init.add_option("folder", init->folder, "Where, made if need be (the current folder)")
      ->type_name("DIR");
  init.add_option("--lang", init->lang, "What its handlers are written in (cpp)")
      ->check(one_of({"cpp", "python", "shell"}))
      ->type_name("cpp|python|shell");

  auto& dev = verbs.add<DevArguments>(
      verbs.app, "dev", "Run a project with a PostgreSQL of its own, for development", cli::dev
  );
  dev.add_config();
  dev.add_flag(
      "--ephemeral", dev->ephemeral, "Keep the database in a temporary folder, removed at the end"
  );

  auto& up =
      verbs.add<UpArguments>(verbs.app, "up", "Run the supervisor in the foreground", cli::up);
  up.add_flag(
      "--require-db",
      up->require_database,
      "End with 69 when the database does not answer at the start, instead of waiting for it"
  );
  up.add_database();
}

}  // namespace pgflow::cli
