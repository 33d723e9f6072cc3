// How the verbs that look for mistakes are called: `config …`, `doctor`.
#include "supervisor/commands/command.hpp"
#include "supervisor/commands/verbs.hpp"

namespace pgflow::cli {

void add_config_verbs(Verbs& verbs) {
  CLI::App& config = verbs.group("config", "The config file");
  auto& check = verbs.add<std::string>(
      config, "check", "Name everything that is wrong with a config file", config_check
  );
  *check = "pgflow.json";
  check.add_option("file", *check, "The file (pgflow.json)")->type_name("FILE");
  check.add_output();

  auto& show = verbs.add<ConfigShowArguments>(
      config, "show", "List what a config file says, and where", config_show
  );
  show.add_flag(
      "--effective",
      show->effective,
      "Everything that is in force: defaults and what wins over the file, too"
  );
  show.add_database();
  show.add_output();

  verbs.add(
      config,
      "schema",
      "Print the JSON Schema of config files, for editors",
      [](const Common&) { return config_schema(); }
  );

  auto& doctor = verbs.add(
      verbs.app,
      "doctor",
      "Look for what is wrong with the database, the config and this host (exit code 1 for a "
      "failure)",
      cli::doctor
  );
  doctor.add_database();
  doctor.add_output();
}

}  // namespace pgflow::cli
