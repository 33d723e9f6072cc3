// `pgflow run rerun`: a new run with the input of an earlier one.
#include "supervisor/commands/command.hpp"
#include "supervisor/database.hpp"
#include "supervisor/runs.hpp"

namespace pgflow::cli {

Outcome<Exit> run_rerun(const Common& common, const RunRerunArguments& arguments) {
  RunStartArguments again;
  again.wait = arguments.wait;
  again.timeout = arguments.timeout;
  {
    Outcome<std::unique_ptr<Database>> database = Database::open_with_schema(common);
    if (!database) return tl::unexpected(database.error());
    Outcome<std::string> run_id = resolve_run(**database, arguments.run);
    if (!run_id) return tl::unexpected(run_id.error());
    const auto text = [&](const char* column) {
      return (*database)->value(
          std::string("select ") + column + "::text from pgflow.runs where run_id = $1::uuid",
          {*run_id}
      );
    };
    Outcome<std::optional<std::string>> flow = text("flow_slug");
    if (!flow) return tl::unexpected(flow.error());
    Outcome<std::optional<std::string>> input = text("input");
    if (!input) return tl::unexpected(input.error());
    again.flow = flow->value_or("");
    again.input = arguments.input.value_or(input->value_or("null"));
  }
  return run_start(common, again);
}

}  // namespace pgflow::cli
