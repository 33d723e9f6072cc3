// `pgflow run list`: runs, newest first.
#include "supervisor/commands/command.hpp"
#include "supervisor/commands/report.hpp"
#include "supervisor/database.hpp"
#include "supervisor/runs.hpp"
#include "supervisor/views.hpp"

namespace pgflow::cli {
namespace {

// $1: a flow or null, $2: a status or null, $3: how many at most.
constexpr std::string_view kRuns = R"sql(
select json_build_object('runs', coalesce(json_agg(json_build_object(
  'run_id', r.run_id,
  'flow', r.flow_slug,
  'status', r.status,
  'started_at', r.started_at,
  'ended_at', coalesce(r.completed_at, r.failed_at),
  'took_seconds', round(extract(epoch from coalesce(r.completed_at, r.failed_at, clock_timestamp()) - r.started_at), 6),
  'remaining_steps', r.remaining_steps,
  'steps', (select count(*) from pgflow.step_states ss where ss.run_id = r.run_id)) order by r.started_at desc, r.run_id desc), '[]'))
from (
  select * from pgflow.runs r
  where ($1::text is null or r.flow_slug = $1::text) and ($2::text is null or r.status = $2::text)
  order by r.started_at desc, r.run_id desc
  limit $3::int) r
)sql";

}  // namespace

Outcome<Exit> run_list(const Common& common, const RunListArguments& arguments) {
  Outcome<std::unique_ptr<Database>> database = Database::open_with_schema(common);
  if (!database) return tl::unexpected(database.error());
  if (arguments.flow) {
    Outcome<void> known = require_flow(**database, *arguments.flow);
    if (!known) return tl::unexpected(known.error());
  }
  Outcome<std::optional<std::string>> document = (*database)->value(
      kRuns, {arguments.flow, arguments.status, std::to_string(arguments.limit)}
  );
  if (!document) return tl::unexpected(document.error());
  if (common.output == Output::json) {
    print(**document);
    return Exit::ok;
  }
  const auto view = from_json<RunListView>(**document);
  Table table(
      "",
      {{"RUN"}, {"FLOW"}, {"STATUS"}, {"STARTED"}, {"TOOK", Align::right}, {"STEPS", Align::right}}
  );
  for (const RunSummary& run : view.runs) {
    table.add(
        {run.run_id,
         run.flow,
         run.status == "failed" ? common.out.red(run.status) : run.status,
         time_text(run.started_at),
         duration_text(run.took_seconds),
         std::to_string(run.steps - run.remaining_steps) + "/" + std::to_string(run.steps)}
    );
  }
  print(view.runs.empty() ? "No runs." : table.text());
  if (!view.runs.empty()) print_hint(common, "pgflow run show " + view.runs.front().run_id);
  return Exit::ok;
}

}  // namespace pgflow::cli
