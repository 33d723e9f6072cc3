#include "supervisor/functions_of.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/did_you_mean.hpp"

namespace pgflow::cli {
namespace {

// $1: a flow, $2: a step, or null for all.
constexpr std::string_view kFunctions = R"sql(
with served as (
  select f.flow_slug, s.step_slug, f.queue_mode, s.queue_name
  from pgflow.flows f
  join pgflow.steps s using (flow_slug)
  where f.flow_slug = $1::text and ($2::text is null or s.step_slug = $2::text)
),
-- A function may have moved to another queue since.
functions as (
  select distinct on (w.function_name) w.function_name, w.queue_name
  from pgflow.workers w
  order by w.function_name, w.started_at desc
)
select case queue_mode when 'step' then flow_slug || '/' || step_slug else flow_slug end from served
union
select function_name from functions join served using (queue_name)
)sql";

Outcome<void> require_step(Database& database, const std::string& flow, const std::string& step) {
  auto known = database.column(
      "select s.step_slug from pgflow.steps s where s.flow_slug = $1::text order by s.step_index",
      {flow}
  );
  if (!known) return tl::unexpected(known.error());
  if (std::ranges::find(*known, step) == known->end()) {
    std::string hint = did_you_mean_hint(step, *known);
    if (hint.empty()) hint = fmt::format("Its steps: {}.", fmt::join(*known, ", "));
    return refuse(
        Exit::not_found, fmt::format("flow \"{}\" has no step \"{}\"", flow, step), "", hint
    );
  }
  auto mode =
      database.value("select queue_mode from pgflow.flows where flow_slug = $1::text", {flow});
  if (!mode) return tl::unexpected(mode.error());
  if (*mode == "step") return {};
  return refuse(
      Exit::usage,
      fmt::format("flow \"{}\" has no workers for one step", flow),
      "All its steps share one queue, and a worker serves them all.",
      fmt::format("Name the whole flow: {}", flow)
  );
}

}  // namespace

Outcome<std::vector<std::string>> functions_of(
    Database& database, const std::vector<std::string>& targets
) {
  std::vector<std::string> all;
  for (const std::string& target : targets) {
    const std::size_t slash = target.find('/');
    const std::string flow = target.substr(0, slash);
    Outcome<void> known = require_flow(database, flow);
    if (!known) return tl::unexpected(known.error());
    std::optional<std::string> step;
    if (slash != std::string::npos) {
      step = target.substr(slash + 1);
      known = require_step(database, flow, *step);
      if (!known) return tl::unexpected(known.error());
    }
    auto functions = database.column(kFunctions, {flow, step});
    if (!functions) return tl::unexpected(functions.error());
    if (functions->empty()) {
      return refuse(
          Exit::not_found,
          fmt::format("flow \"{}\" has no steps", flow),
          "So it has no workers.",
          "`pgflow status` lists flows and their steps."
      );
    }
    all.insert(all.end(), functions->begin(), functions->end());
  }
  std::ranges::sort(all);
  const auto repeated = std::ranges::unique(all);
  all.erase(repeated.begin(), repeated.end());
  return all;
}

}  // namespace pgflow::cli
