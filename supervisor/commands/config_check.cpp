// `pgflow config check`: everything that is wrong with a config file, without doing anything.
#include <fmt/format.h>

#include "settings/load.hpp"
#include "supervisor/commands/command.hpp"
#include "supervisor/commands/report.hpp"
#include "supervisor/views.hpp"

namespace pgflow::cli {
namespace {

ConfigProblemView view_of(const settings::Problem& problem) {
  ConfigProblemView view{
      problem.file,
      problem.position.line,
      problem.position.column,
      problem.path,
      problem.reason,
      {},
      problem.warning
  };
  if (!problem.hint.empty()) view.hint = problem.hint;
  return view;
}

}  // namespace

Outcome<Exit> config_check(const Common& common, const std::filesystem::path& file) {
  const auto loaded = settings::load(file, {.database_url = common.database_url});
  if (common.output == Output::text) {
    if (!loaded) return tl::unexpected(config_failure(loaded.error()));
    print(fmt::format("{} {} is valid", common.out.green("✓"), file.string()));
    return Exit::ok;
  }
  ConfigCheckView view{loaded.has_value(), {}};
  if (!loaded) {
    for (const settings::Problem& problem : loaded.error().problems)
      view.problems.push_back(view_of(problem));
  }
  print(to_json(view));
  return loaded ? Exit::ok : static_cast<Exit>(loaded.error().exit_code);
}

}  // namespace pgflow::cli
