// `pgflow version`: what this program is and which schema it needs.
#include <fmt/format.h>

#include "sql/bundle.hpp"
#include "supervisor/commands/command.hpp"
#include "supervisor/commands/report.hpp"
#include "supervisor/views.hpp"

namespace pgflow::cli {

Outcome<Exit> version(const Common& common) {
  const auto migrations = sql::migrations();
  const VersionView view{
      PGFLOW_VERSION, std::string(migrations.back().name), std::ssize(migrations)
  };
  if (common.output == Output::json) {
    print(to_json(view));
  } else {
    print(fmt::format("pgflow {}  (schema version {})", view.version, view.schema_version));
  }
  return Exit::ok;
}

}  // namespace pgflow::cli
