// `pgflow config check`: everything that is wrong with a config file, without doing anything.
#include <fmt/format.h>

#include "pg/dsn.hpp"
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

// A URL that libpq cannot read: `pgflow up` would end with it.
std::optional<settings::Problem> unreadable_url(const settings::DatabaseSettings& database) {
  auto dsn = pg::Dsn::parse(database.url);
  if (dsn) return std::nullopt;
  return settings::Problem{
      .file = database.url_source,
      .position = {},
      .path = "database.url",
      .reason = dsn.error().message + (dsn.error().detail.empty() ? "" : " " + dsn.error().detail),
      .hint = dsn.error().hint
  };
}

}  // namespace

Outcome<Exit> config_check(const Common& common, const std::filesystem::path& file) {
  auto loaded = settings::load(file, {.database_url = common.database_url});
  if (loaded) {
    if (auto problem = unreadable_url(loaded->database)) {
      loaded = tl::unexpected(settings::LoadError{static_cast<int>(Exit::config), {*problem}});
    }
  }
  ConfigCheckView view{loaded.has_value(), {}};
  if (!loaded) {
    view.valid = true;
    for (settings::Problem& problem : loaded.error().problems) {
      // A project of `pgflow dev` names no database: that makes no file wrong.
      problem.warning = problem.path == "database.url" && problem.reason == "is missing";
      view.valid = view.valid && problem.warning;
      view.problems.push_back(view_of(problem));
    }
  }
  if (common.output == Output::json) {
    print(to_json(view));
    return view.valid ? Exit::ok : static_cast<Exit>(loaded.error().exit_code);
  }
  if (!view.valid) return tl::unexpected(config_failure(loaded.error()));
  print(fmt::format("{} {} is valid", common.out.green("✓"), file.string()));
  if (!loaded)
    print("  It names no database: `pgflow dev` brings its own, `pgflow up` needs DATABASE_URL.");
  return Exit::ok;
}

}  // namespace pgflow::cli
