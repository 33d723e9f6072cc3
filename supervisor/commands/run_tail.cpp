// `pgflow run tail`: what happens in a run, a line each, until it ends.
#include <fmt/format.h>

#include <chrono>
#include <set>
#include <thread>

#include "supervisor/commands/command.hpp"
#include "supervisor/commands/report.hpp"
#include "supervisor/database.hpp"
#include "supervisor/runs.hpp"
#include "supervisor/views.hpp"

namespace pgflow::cli {
namespace {

// $1: a run. All that is known to have happened in it, in the order of time. What comes new is a
// row that was not there before: a retry is another attempt.
constexpr std::string_view kFacts = R"sql(
with facts as (
  select r.started_at as at, 0 as rank, 'run' as kind, null as step, null::int as task_index, 'started' as status,
    null::int as attempt, null as error, null as reason
  from pgflow.runs r where r.run_id = $1::uuid
  union all
  select coalesce(r.completed_at, r.failed_at), 9, 'run', null, null, r.status, null, null, null
  from pgflow.runs r where r.run_id = $1::uuid and r.status <> 'started'
  union all
  select s.started_at, 1, 'step', s.step_slug, null, 'started', null, null, null
  from pgflow.step_states s where s.run_id = $1::uuid and s.started_at is not null
  union all
  select coalesce(s.completed_at, s.failed_at, s.skipped_at), 4, 'step', s.step_slug, null, s.status, null, s.error_message, s.skip_reason
  from pgflow.step_states s where s.run_id = $1::uuid and s.status in ('completed', 'failed', 'skipped')
  union all
  select t.started_at, 2, 'task', t.step_slug, t.task_index, 'started', t.attempts_count, null, null
  from pgflow.step_tasks t where t.run_id = $1::uuid and t.started_at is not null
  union all
  select coalesce(t.completed_at, t.failed_at, r.failed_at), 3, 'task', t.step_slug, t.task_index, t.status, t.attempts_count, t.error_message, null
  from pgflow.step_tasks t join pgflow.runs r using (run_id)
  where t.run_id = $1::uuid and t.status not in ('queued', 'started')
  union all
  select clock_timestamp(), 3, 'task', t.step_slug, t.task_index, 'retrying', t.attempts_count, t.error_message, null
  from pgflow.step_tasks t where t.run_id = $1::uuid and t.status = 'queued' and t.attempts_count > 0 and t.error_message is not null
)
select json_build_object('run_id', $1::uuid, 'at', f.at, 'kind', f.kind, 'step', f.step, 'task_index', f.task_index,
  'status', f.status, 'attempt', f.attempt, 'error', f.error, 'skip_reason', f.reason)
from facts f
order by f.at, f.rank, f.step, f.task_index
)sql";

constexpr std::chrono::milliseconds kPause{200};

std::string line_of(const Style& style, const RunFact& fact) {
  constexpr std::size_t kFirst = std::string_view("2026-11-30T").size();
  constexpr std::size_t kTime = std::string_view("07:15:44.123").size();
  std::string what = fact.kind;
  if (fact.step) what = *fact.step;
  if (fact.task_index) what += fmt::format("[{}]", *fact.task_index);
  std::string status = fact.status;
  if (status == "completed") status = style.green(status);
  if (status == "failed" || status == "cancelled") status = style.red(status);
  std::string line =
      fmt::format("{}  {}  {}", style.dim(fact.at.substr(kFirst, kTime)), what, status);
  if (fact.attempt) line += fmt::format("  attempt {}", *fact.attempt);
  if (fact.skip_reason) line += "  " + *fact.skip_reason;
  if (fact.error) line += "  " + fact.error->substr(0, fact.error->find('\n'));
  return line;
}

}  // namespace

Outcome<Exit> run_tail(const Common& common, const RunTailArguments& arguments) {
  Outcome<std::unique_ptr<Database>> database = Database::open_with_schema(common);
  if (!database) return tl::unexpected(database.error());
  Outcome<std::string> run_id = resolve_run(**database, arguments.run);
  if (!run_id) return tl::unexpected(run_id.error());

  const auto begin = std::chrono::steady_clock::now();
  std::set<std::string> told;
  for (;;) {
    const auto asked = std::chrono::steady_clock::now();
    auto rows = (*database)->column(kFacts, {*run_id});
    if (!rows) return tl::unexpected(rows.error());
    std::optional<Exit> end;
    for (const std::string& row : *rows) {
      const auto fact = from_json<RunFact>(row);
      if (fact.kind == "run" && fact.status != "started") {
        end = fact.status == "completed" ? Exit::ok : Exit::negative;
      }
      const std::string key = fmt::format(
          "{}/{}/{}/{}/{}",
          fact.kind,
          fact.step.value_or(""),
          fact.task_index.value_or(-1),
          fact.status,
          fact.attempt.value_or(0)
      );
      if (!told.insert(key).second) continue;
      print(common.output == Output::jsonl ? row : line_of(common.out, fact));
    }
    std::fflush(stdout);
    if (end) {
      print_hint(common, "pgflow run show " + *run_id);
      return *end;
    }
    if (rows->empty()) {
      return refuse(Exit::not_found, "the run was deleted", "Run " + *run_id + ".");
    }
    const auto now = std::chrono::steady_clock::now();
    if (arguments.timeout && now - begin >= *arguments.timeout) {
      return refuse(
          Exit::timeout,
          "the run has not ended within the time",
          "Nothing was stopped: it goes on.",
          "pgflow run tail " + *run_id
      );
    }
    // A slow answer means a busy database: ask less often.
    std::this_thread::sleep_for(std::max<std::chrono::nanoseconds>(kPause, 10 * (now - asked)));
  }
}

}  // namespace pgflow::cli
