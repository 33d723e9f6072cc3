// `pgflow run cancel`: runs end as failed because somebody wants it.
#include <fmt/format.h>

#include <algorithm>

#include "supervisor/commands/command.hpp"
#include "supervisor/commands/report.hpp"
#include "supervisor/database.hpp"
#include "supervisor/runs.hpp"

namespace pgflow::cli {
namespace {

// $1: run ids, $2: the reason. Ascending: the order in which calls lock runs.
constexpr std::string_view kCancel = R"sql(
select count(*)
from (select run_id from unnest($1::uuid[]) as given (run_id) order by run_id) given
cross join lateral pgflow.cancel_run(given.run_id, $2::text) r
)sql";

// $1: a flow.
constexpr std::string_view kStarted = R"sql(
select run_id from pgflow.runs where flow_slug = $1::text and status = 'started' order by run_id
)sql";

constexpr std::size_t kBatch = 200;  // runs in one transaction

Outcome<std::vector<std::string>> chosen(Database& database, const RunCancelArguments& arguments) {
  std::vector<std::string> run_ids;
  for (const std::string& run : arguments.runs) {
    Outcome<std::string> run_id = resolve_run(database, run);
    if (!run_id) return tl::unexpected(run_id.error());
    run_ids.push_back(*run_id);
  }
  if (arguments.flow) {
    Outcome<void> known = require_flow(database, *arguments.flow);
    if (!known) return tl::unexpected(known.error());
    auto started = database.column(kStarted, {*arguments.flow});
    if (!started) return tl::unexpected(started.error());
    if (!started->empty() && !arguments.yes) {
      return refuse(
          Exit::usage,
          fmt::format(
              "this would cancel {} of {}",
              counted(static_cast<long long>(started->size()), "run"),
              *arguments.flow
          ),
          "Nothing was changed.",
          "--yes does it"
      );
    }
    run_ids.insert(run_ids.end(), started->begin(), started->end());
  }
  std::ranges::sort(run_ids);
  const auto repeated = std::ranges::unique(run_ids);
  run_ids.erase(repeated.begin(), repeated.end());
  return run_ids;
}

}  // namespace

Outcome<Exit> run_cancel(const Common& common, const RunCancelArguments& arguments) {
  if (arguments.runs.empty() == !arguments.flow) {
    return refuse(
        Exit::usage, "cancel which runs?", "", "pgflow run cancel ID…, or --flow FLOW --yes for all"
    );
  }
  Outcome<std::unique_ptr<Database>> database = Database::open_with_schema(common);
  if (!database) return tl::unexpected(database.error());
  auto run_ids = chosen(**database, arguments);
  if (!run_ids) return tl::unexpected(run_ids.error());

  const std::string reason = arguments.reason.value_or("cancelled by " + this_person());
  for (std::size_t begin = 0; begin < run_ids->size(); begin += kBatch) {
    const auto end = std::min(begin + kBatch, run_ids->size());
    const auto at = run_ids->begin();
    const std::vector<std::string> batch(
        at + static_cast<std::ptrdiff_t>(begin), at + static_cast<std::ptrdiff_t>(end)
    );
    auto cancelled = (*database)->value(kCancel, {array_text(batch), reason});
    if (!cancelled) return tl::unexpected(cancelled.error());
  }
  return print_run_states(common, **database, *run_ids);
}

}  // namespace pgflow::cli
