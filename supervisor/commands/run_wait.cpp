// `pgflow run wait`: until the given runs have ended.
#include "supervisor/commands/command.hpp"
#include "supervisor/database.hpp"
#include "supervisor/runs.hpp"

namespace pgflow::cli {

Outcome<Exit> run_wait(const Common& common, const RunWaitArguments& arguments) {
  Outcome<std::unique_ptr<Database>> database = Database::open_with_schema(common);
  if (!database) return tl::unexpected(database.error());
  std::vector<std::string> run_ids;
  for (const std::string& run : arguments.runs) {
    Outcome<std::string> run_id = resolve_run(**database, run);
    if (!run_id) return tl::unexpected(run_id.error());
    run_ids.push_back(*run_id);
  }
  return watch_runs(common, **database, run_ids, arguments.timeout);
}

}  // namespace pgflow::cli
