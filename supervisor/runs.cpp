#include "supervisor/runs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "supervisor/commands/report.hpp"

namespace pgflow::cli {
namespace {

// $1: run ids. In the order given; "unknown" for a run that was deleted meanwhile.
constexpr std::string_view kStates = R"sql(
select json_build_object(
  'runs', coalesce(json_agg(json_build_object(
    'run_id', wanted.run_id, 'status', coalesce(r.status, 'unknown')) order by wanted.n), '[]'),
  'counts', json_build_object(
    'started', count(*) filter (where r.status = 'started'),
    'completed', count(*) filter (where r.status = 'completed'),
    'failed', count(*) filter (where r.status = 'failed')))
from unnest($1::uuid[]) with ordinality as wanted (run_id, n)
left join pgflow.runs r using (run_id)
)sql";

constexpr std::size_t kDigits = 32;
constexpr std::chrono::milliseconds kPause{200};

// The digits, filled up with `fill` to a whole UUID.
std::string filled_uuid(std::string digits, char fill) {
  digits.resize(kDigits, fill);
  for (std::size_t dash : {8U, 13U, 18U, 23U}) digits.insert(dash, 1, '-');
  return digits;
}

void print_states(const Common& common, const std::string& document, const RunStatesView& view) {
  if (common.output == Output::json) {
    print(document);
    return;
  }
  for (const RunState& run : view.runs) {
    print(fmt::format(
        "{}  {}", run.run_id, run.status == "failed" ? common.out.red(run.status) : run.status
    ));
  }
  const auto failed =
      std::ranges::find_if(view.runs, [](const RunState& run) { return run.status == "failed"; });
  if (failed != view.runs.end()) print_hint(common, "pgflow run show " + failed->run_id);
}

}  // namespace

Outcome<std::string> resolve_run(Database& database, std::string_view beginning) {
  std::string digits;
  for (char c : beginning) {
    if (c != '-') digits += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  constexpr std::size_t kFewest = 4;
  if (digits.size() < kFewest || digits.size() > kDigits ||
      digits.find_first_not_of("0123456789abcdef") != std::string::npos) {
    return refuse(
        Exit::usage,
        fmt::format("\"{}\" is not a run id", beginning),
        "A run id is a UUID; its first 4 digits or more are enough.",
        "`pgflow run list` shows run ids."
    );
  }
  Outcome<std::vector<std::string>> found = database.column(
      "select run_id from pgflow.runs where run_id between $1::uuid and $2::uuid limit 2",
      {filled_uuid(digits, '0'), filled_uuid(digits, 'f')}
  );
  if (!found) return tl::unexpected(found.error());
  if (found->empty()) {
    return refuse(
        Exit::not_found,
        fmt::format("no run \"{}\"", beginning),
        "",
        "`pgflow run list` shows run ids."
    );
  }
  if (found->size() > 1) {
    return refuse(
        Exit::usage,
        fmt::format("\"{}\" is the beginning of several run ids", beginning),
        fmt::format("{} and {} are two of them", (*found)[0], (*found)[1]),
        "give more digits"
    );
  }
  return found->front();
}

Outcome<Exit> watch_runs(
    const Common& common,
    Database& database,
    const std::vector<std::string>& run_ids,
    Timeout timeout
) {
  const auto begin = std::chrono::steady_clock::now();
  const Parameters parameters{array_text(run_ids)};
  Progress progress(is_terminal(2));
  for (;;) {
    const auto asked = std::chrono::steady_clock::now();
    Outcome<std::optional<std::string>> document = database.value(kStates, parameters);
    if (!document) return tl::unexpected(document.error());
    const auto view = from_json<RunStatesView>(**document);
    const auto total = static_cast<long long>(run_ids.size());
    progress.update(
        total - view.counts.started,
        total,
        fmt::format(
            "runs ended, {} completed, {} failed", view.counts.completed, view.counts.failed
        )
    );
    const auto now = std::chrono::steady_clock::now();
    const bool late = timeout && now - begin >= *timeout;
    if (view.counts.started > 0 && !late) {
      // A slow answer means a busy database: ask less often.
      std::this_thread::sleep_for(std::max<std::chrono::nanoseconds>(kPause, 10 * (now - asked)));
      continue;
    }
    progress.finish();
    print_states(common, **document, view);
    if (view.counts.started > 0) {
      if (common.output == Output::json) return Exit::timeout;
      return refuse(
          Exit::timeout,
          fmt::format("{} not ended within the time", counted(view.counts.started, "run")),
          "Nothing was stopped: what has not ended goes on.",
          "pgflow run wait " + run_ids.front()
      );
    }
    return view.counts.completed == total ? Exit::ok : Exit::negative;
  }
}

Outcome<Exit> print_run_states(
    const Common& common, Database& database, const std::vector<std::string>& run_ids
) {
  Outcome<std::optional<std::string>> document = database.value(kStates, {array_text(run_ids)});
  if (!document) return tl::unexpected(document.error());
  print_states(common, **document, from_json<RunStatesView>(**document));
  return Exit::ok;
}

std::string time_text(std::string_view timestamp) {
  constexpr std::size_t kSeconds = std::string_view("2026-11-30T07:15:44").size();
  std::string text(timestamp.substr(0, kSeconds));
  std::ranges::replace(text, 'T', ' ');
  return text;
}

}  // namespace pgflow::cli
