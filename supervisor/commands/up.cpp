// `pgflow up`: the supervisor of a config file, in the foreground.
#include "settings/load.hpp"
#include "supervisor/commands/command.hpp"
#include "supervisor/commands/report.hpp"
#include "supervisor/supervisor.hpp"

namespace pgflow::cli {
Outcome<Exit> up(const Common& common, const UpArguments& arguments) {
  const auto settings =
      settings::load(common.config.value_or("pgflow.json"), {.database_url = common.database_url});
  if (!settings) return tl::unexpected(config_failure(settings.error()));
  if (settings->database.url.empty()) {
    return refuse(
        Exit::config,
        "The config asks for the embedded database, which only `pgflow dev` starts.",
        {},
        "Run `pgflow dev`, or set DATABASE_URL."
    );
  }
  open_log(settings->supervisor.log);
  return static_cast<Exit>(
      supervisor::run_supervisor(*settings, {.require_database = arguments.require_database})
  );
}

}  // namespace pgflow::cli
