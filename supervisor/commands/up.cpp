// `pgflow up`: the supervisor of a config file, in the foreground.
#include "settings/load.hpp"
#include "supervisor/commands/command.hpp"
#include "supervisor/commands/report.hpp"
#include "supervisor/supervisor.hpp"

namespace pgflow::cli {

Outcome<Exit> up(const Common& common) {
  const auto settings =
      settings::load(common.config.value_or("pgflow.json"), {.database_url = common.database_url});
  if (!settings) return tl::unexpected(config_failure(settings.error()));
  return static_cast<Exit>(supervisor::run_supervisor(*settings));
}

}  // namespace pgflow::cli
