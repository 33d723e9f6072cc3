// `pgflow coverage`: whether every step of the step-queued flows has a live worker.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "supervisor/commands/command.hpp"
#include "supervisor/commands/report.hpp"
#include "supervisor/database.hpp"
#include "supervisor/room.hpp"
#include "supervisor/views.hpp"

namespace pgflow::cli {
namespace {

// $1: flows as text[], or null for all.
constexpr std::string_view kCoverage = R"sql(
with routes as (
  select c.* from pgflow.route_coverage(null) c
  where $1::text[] is null or c.flow_slug = any ($1::text[])
),
steps as (
  select c.flow_slug, c.step_index, c.covered, json_build_object(
    'step', c.step_slug,
    'queue', c.queue_name,
    'covered', c.covered,
    'live_workers', c.live_workers,
    'freshest_seconds', w.freshest,
    'stopped', w.stopped,
    'stale', w.stale,
    'stale_seconds', w.stale_for,
    'deprecated', w.deprecated,
    'queued', (
      select count(*) from pgflow.step_tasks t
      where t.flow_slug = c.flow_slug and t.step_slug = c.step_slug and t.status = 'queued'),
    'fenced', (
      select min(f.reason) from pgflow.fenced_functions ff
      join pgflow.fences f using (fence_id)
      where ff.function_name = c.flow_slug || '/' || c.step_slug)
  ) as step
  from routes c
  cross join lateral (
    select
      round(extract(epoch from clock_timestamp() - max(w.last_heartbeat_at)
        filter (where w.stopped_at is null and w.deprecated_at is null and w.live)), 3) as freshest,
      count(*) filter (where w.stopped_at is not null) as stopped,
      count(*) filter (where w.stopped_at is null and w.deprecated_at is not null) as deprecated,
      count(*) filter (where w.stopped_at is null and w.deprecated_at is null and not w.live) as stale,
      round(extract(epoch from clock_timestamp() - max(w.last_heartbeat_at)
        filter (where w.stopped_at is null and w.deprecated_at is null and not w.live)), 3) as stale_for
    from (
      select w.*, w.last_heartbeat_at > clock_timestamp() - interval '6 seconds' as live
      from pgflow.workers w
      where w.queue_name = c.queue_name and w.last_heartbeat_at > clock_timestamp() - interval '1 hour') w) w
),
flows as (
  select s.flow_slug, bool_and(s.covered) as covered, json_agg(s.step order by s.step_index) as steps
  from steps s
  group by s.flow_slug
)
select json_build_object(
  'covered', coalesce((select bool_and(f.covered) from flows f), false),
  'threshold_seconds', 6,
  'flows', coalesce((
    select json_agg(json_build_object('flow', f.flow_slug, 'covered', f.covered, 'steps', f.steps) order by f.flow_slug)
    from flows f), '[]')
)
)sql";

constexpr std::chrono::milliseconds kPause{250};

std::string not_counted(const StepCoverage& step) {
  std::string stale =
      step.stale_seconds ? fmt::format(" ({})", duration_text(step.stale_seconds)) : "";
  return fmt::format(
      "{} stopped, {} stale{}, {} deprecated", step.stopped, step.stale, stale, step.deprecated
  );
}

void print_flow(const Style& style, const FlowCoverage& flow, double threshold) {
  std::int64_t covered = 0;
  Table table("  ", {{""}, {""}, {""}, {""}, {""}});
  for (const StepCoverage& step : flow.steps) {
    covered += step.covered ? 1 : 0;
    table.add(
        {step.covered ? style.green("✓") : style.red("✗"),
         step.step,
         step.queue,
         counted(step.live_workers, "live worker"),
         step.covered ? fmt::format("freshest {}", duration_text(step.freshest_seconds))
                      : not_counted(step)}
    );
  }
  const std::int64_t uncovered = static_cast<std::int64_t>(flow.steps.size()) - covered;
  print(fmt::format(
      "{}   {}   {} covered   {}   heartbeat threshold {:.0f}s\n",
      style.bold(flow.flow),
      counted(static_cast<long long>(flow.steps.size()), "step"),
      covered,
      uncovered == 0 ? "0 uncovered" : style.red(fmt::format("{} UNCOVERED", uncovered)),
      threshold
  ));
  print(table.text());
}

// The pools of the supervisor here, if one answers.
std::vector<supervisor::PoolDocument> pools_here(const Common& common) {
  const Outcome<Room> room = Room::find(common);
  if (!room) return {};
  return room->status().map([](const supervisor::StatusDocument& view) { return view.pools; }
  ).value_or(std::vector<supervisor::PoolDocument>());
}

void print_advice(const Common& common, const CoverageView& view) {
  const auto pools = pools_here(common);
  std::fflush(stdout);
  for (const FlowCoverage& flow : view.flows) {
    for (const StepCoverage& step : flow.steps) {
      if (step.covered) continue;
      const std::string name = flow.flow + "/" + step.step;
      const bool is_paused = std::ranges::any_of(pools, [&](const auto& pool) {
        return name_of(pool) == name && pool.state == "paused";
      });
      const std::string advice =
          step.fenced ? fmt::format("{} is fenced: {}. `pgflow fence list`", name, *step.fenced)
          : is_paused
              ? fmt::format("{0} is paused by the supervisor here: `pgflow resume {0}`", name)
              : fmt::format(
                    "start a worker for {}, for example with `pgflow up -c pgflow.json`", name
                );
      fmt::print(
          stderr,
          "{} {}; queued work is kept ({}).\n",
          common.err.dim("hint:"),
          advice,
          counted(step.queued, "task")
      );
    }
  }
}

std::int64_t covered_steps(const CoverageView& view, std::int64_t& steps) {
  std::int64_t covered = 0;
  steps = 0;
  for (const FlowCoverage& flow : view.flows) {
    for (const StepCoverage& step : flow.steps) {
      ++steps;
      covered += step.covered ? 1 : 0;
    }
  }
  return covered;
}

// Flows that were asked for and are not in step mode, or not there.
Outcome<void> require_step_queued(Database& database, const std::vector<std::string>& flows) {
  for (const std::string& flow : flows) {
    Outcome<void> known = require_flow(database, flow);
    if (!known) return known;
    auto mode =
        database.value("select queue_mode from pgflow.flows where flow_slug = $1::text", {flow});
    if (!mode) return tl::unexpected(mode.error());
    if (*mode != "step") {
      return refuse(
          Exit::usage,
          fmt::format("flow \"{}\" has no step queues", flow),
          "Coverage is about flows whose steps have queues of their own.",
          fmt::format("`pgflow status {}` shows its workers.", flow)
      );
    }
  }
  return {};
}

}  // namespace

Outcome<Exit> coverage(const Common& common, const CoverageArguments& arguments) {
  Outcome<std::unique_ptr<Database>> database = Database::open_with_schema(common);
  if (!database) return tl::unexpected(database.error());
  const auto deadline =
      std::chrono::steady_clock::now() + arguments.timeout.value_or(std::chrono::hours(24 * 365));
  Parameters parameters{std::nullopt};
  if (!arguments.flows.empty()) parameters[0] = array_text(arguments.flows);

  Progress progress(is_terminal(2));
  for (;;) {
    Outcome<std::optional<std::string>> document = (*database)->value(kCoverage, parameters);
    if (!document) return tl::unexpected(document.error());
    const auto view = from_json<CoverageView>(**document);
    const bool complete =
        view.covered && (arguments.flows.empty() || view.flows.size() == arguments.flows.size());
    const bool late = std::chrono::steady_clock::now() >= deadline;
    if (!complete && arguments.wait && !late) {
      std::int64_t steps = 0;
      const std::int64_t covered = covered_steps(view, steps);
      progress.update(
          covered,
          steps,
          view.flows.size() < arguments.flows.size()
              ? "steps covered; not all flows are compiled yet"
          : steps == 0 ? "steps covered; no flow is compiled yet"
                       : "steps covered"
      );
      std::this_thread::sleep_for(kPause);
      continue;
    }
    progress.finish();

    if (!complete && arguments.wait && view.flows.size() < arguments.flows.size()) {
      return refuse(
          Exit::timeout,
          "not every flow was compiled within the time",
          fmt::format("Database: {}.", (*database)->connection().dsn().describe()),
          "a supervisor compiles its flows when it starts: `pgflow up -c pgflow.json`"
      );
    }
    if (view.flows.size() < arguments.flows.size()) {
      Outcome<void> known = require_step_queued(**database, arguments.flows);
      if (!known) return tl::unexpected(known.error());
    }
    if (view.flows.empty()) {
      return refuse(
          Exit::not_found,
          "no flow with step queues is compiled in this database",
          fmt::format("Database: {}.", (*database)->connection().dsn().describe()),
          "a supervisor compiles its flows when it starts: `pgflow up -c pgflow.json`"
      );
    }
    if (common.output == Output::json) {
      print(**document);
    } else {
      for (const FlowCoverage& flow : view.flows)
        print_flow(common.out, flow, view.threshold_seconds);
      if (!view.covered) print_advice(common, view);
    }
    if (view.covered) return Exit::ok;
    return arguments.wait ? Exit::timeout : Exit::negative;
  }
}

}  // namespace pgflow::cli
