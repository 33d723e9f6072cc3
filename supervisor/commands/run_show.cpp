// `pgflow run show`: one run, drawn as the tree of its steps.
#include <fmt/format.h>

#include <algorithm>

#include "supervisor/commands/command.hpp"
#include "supervisor/commands/report.hpp"
#include "supervisor/database.hpp"
#include "supervisor/runs.hpp"
#include "supervisor/views.hpp"

namespace pgflow::cli {
namespace {

// $1: the run.
constexpr std::string_view kRun = R"sql(
with run as (
  select * from pgflow.runs where run_id = $1::uuid
),
tasks as (
  select t.step_slug,
    count(*) as tasks,
    count(*) filter (where t.status = 'completed') as completed,
    sum(t.attempts_count) as attempts,
    max(t.attempts_count) as most_attempts,
    round(extract(epoch from min(t.started_at) - min(t.queued_at)), 6) as queued,
    round(extract(epoch from max(coalesce(t.completed_at, t.failed_at)) - min(t.started_at)), 6) as ran,
    (array_agg(t.error_message order by t.task_index) filter (where t.error_message is not null))[1] as error,
    json_agg(json_build_object(
      'task_index', t.task_index,
      'status', t.status,
      'attempts', t.attempts_count,
      'message_id', t.message_id::text,
      'worker_id', t.last_worker_id,
      'queued_seconds', round(extract(epoch from t.started_at - t.queued_at), 6),
      'ran_seconds', round(extract(epoch from coalesce(t.completed_at, t.failed_at) - t.started_at), 6),
      'error', t.error_message) order by t.task_index) as list
  from pgflow.step_tasks t
  where t.run_id = $1::uuid
  group by t.step_slug
),
steps as (
  select s.step_index, json_build_object(
    'step', s.step_slug,
    'status', ss.status,
    'depends_on', coalesce((
      select json_agg(d.dep_slug order by p.step_index)
      from pgflow.deps d
      join pgflow.steps p on p.flow_slug = d.flow_slug and p.step_slug = d.dep_slug
      where d.flow_slug = s.flow_slug and d.step_slug = s.step_slug), '[]'),
    'type', s.step_type,
    'queue', s.queue_name,
    'max_attempts', coalesce(s.opt_max_attempts, f.opt_max_attempts),
    'attempts', coalesce(t.attempts, 0),
    'most_attempts', coalesce(t.most_attempts, 0),
    'queued_seconds', t.queued,
    'ran_seconds', t.ran,
    'skip_reason', ss.skip_reason,
    'error', coalesce(ss.error_message, t.error),
    'output', ss.output,
    'tasks_completed', coalesce(t.completed, 0),
    'tasks', coalesce(t.list, '[]')
  ) as step
  from run r
  join pgflow.flows f using (flow_slug)
  join pgflow.step_states ss on ss.run_id = r.run_id
  join pgflow.steps s on s.flow_slug = ss.flow_slug and s.step_slug = ss.step_slug
  left join tasks t on t.step_slug = ss.step_slug
)
select json_build_object(
  'run_id', r.run_id,
  'flow', r.flow_slug,
  'status', r.status,
  'started_at', r.started_at,
  'ended_at', coalesce(r.completed_at, r.failed_at),
  'took_seconds', round(extract(epoch from coalesce(r.completed_at, r.failed_at, clock_timestamp()) - r.started_at), 6),
  'input', r.input,
  'output', r.output,
  'steps', coalesce((select json_agg(s.step order by s.step_index) from steps s), '[]'))
from run r
)sql";

constexpr std::size_t kLongestNote = 100;

// One line of it, cut at a character.
std::string shortened(std::string_view text, std::size_t most) {
  text = text.substr(0, text.find('\n'));
  if (display_width(text) <= most) return std::string(text);
  std::size_t end = 0;
  for (std::size_t taken = 0; end < text.size(); ++end) {
    const bool begins_character = (static_cast<unsigned char>(text[end]) & 0xC0U) != 0x80U;
    if (begins_character && ++taken == most) break;
  }
  return std::string(text.substr(0, end)) + "…";
}

std::string painted_status(const Style& style, const std::string& status) {
  if (status == "completed") return style.green(status);
  if (status == "failed") return style.red(status);
  if (status == "started") return style.yellow(status);
  return style.dim(status);
}

std::string skip_text(const std::string& reason) {
  if (reason == "condition_unmet") return "its condition was not met";
  if (reason == "dependency_skipped") return "a step before it was skipped";
  if (reason == "handler_failed") return "its handler failed";
  return reason;
}

std::string tries_text(const RunStepView& step) {
  if (step.tasks.empty()) return {};
  if (step.tasks.size() > 1 || step.type == "map") {
    return fmt::format("{}/{} tasks", step.tasks_completed, step.tasks.size());
  }
  return step.attempts == 0 ? ""
                            : fmt::format("attempt {}/{}", step.most_attempts, step.max_attempts);
}

std::string note_text(const Style& style, const RunStepView& step) {
  std::string note;
  // A step with one parent hangs below it; one with several would have to hang twice.
  if (step.depends_on.size() > 1)
    note = style.dim(fmt::format("after {}", fmt::join(step.depends_on, ", ")));
  std::string what;
  if (step.skip_reason) what = style.dim("(" + skip_text(*step.skip_reason) + ")");
  if (step.error) {
    const std::string error = shortened(*step.error, kLongestNote);
    what = step.status == "completed" ? style.dim("after: " + error) : style.red(error);
  }
  if (!note.empty() && !what.empty()) note += "  ";
  return note + what;
}

class Tree {
 public:
  Tree(const Style& style, const std::vector<RunStepView>& steps)
      : style_(style), steps_(steps), table_("  ", {{""}, {""}, {""}, {""}, {""}, {""}}) {}

  std::string text() {
    for (const RunStepView& step : steps_) {
      if (step.depends_on.size() != 1) add(step, "", "");
    }
    return table_.text();
  }

 private:
  void add(const RunStepView& step, const std::string& branch, const std::string& indent) {
    table_.add(
        {branch + step.step,
         painted_status(style_, step.status),
         step.queued_seconds ? "queued " + duration_text(step.queued_seconds) : "",
         step.ran_seconds ? "ran " + duration_text(step.ran_seconds) : "",
         tries_text(step),
         note_text(style_, step)}
    );
    std::vector<const RunStepView*> children;
    for (const RunStepView& other : steps_) {
      if (other.depends_on.size() == 1 && other.depends_on[0] == step.step)
        children.push_back(&other);
    }
    for (const RunStepView* child : children) {
      const bool last = child == children.back();
      add(*child, indent + (last ? "└ " : "├ "), indent + (last ? "  " : "│ "));
    }
  }

  const Style& style_;
  const std::vector<RunStepView>& steps_;
  Table table_;
};

void print_run(const Style& style, const RunView& run) {
  print(fmt::format(
      "run {}  {}  {}  started {}  {} {}\n",
      run.run_id,
      style.bold(run.flow),
      painted_status(style, run.status),
      time_text(run.started_at),
      run.ended_at ? "took" : "for",
      duration_text(run.took_seconds)
  ));
  print(Tree(style, run.steps).text());
  if (run.input)
    print(fmt::format("  {}   {}", style.dim("input"), shortened(run.input->text, kLongestNote)));
  if (run.output)
    print(fmt::format("  {}  {}", style.dim("output"), shortened(run.output->text, kLongestNote)));
}

}  // namespace

Outcome<Exit> run_show(const Common& common, const std::string& run) {
  Outcome<std::unique_ptr<Database>> database = Database::open_with_schema(common);
  if (!database) return tl::unexpected(database.error());
  Outcome<std::string> run_id = resolve_run(**database, run);
  if (!run_id) return tl::unexpected(run_id.error());
  Outcome<std::optional<std::string>> document = (*database)->value(kRun, {*run_id});
  if (!document) return tl::unexpected(document.error());
  if (common.output == Output::json) {
    print(**document);
  } else {
    print_run(common.out, from_json<RunView>(**document));
  }
  return Exit::ok;
}

}  // namespace pgflow::cli
