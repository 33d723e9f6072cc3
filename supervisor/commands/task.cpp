// `pgflow task list`, `task requeue`: the tasks of a run, and those that no worker gets any more.
#include <fmt/format.h>

#include "supervisor/commands/command.hpp"
#include "supervisor/commands/report.hpp"
#include "supervisor/database.hpp"
#include "supervisor/runs.hpp"
#include "supervisor/views.hpp"

namespace pgflow::cli {
namespace {

// $1: a run, $2: a status or null.
constexpr std::string_view kTasks = R"sql(
select json_build_object(
  'run_id', t.run_id,
  'step', t.step_slug,
  'task_index', t.task_index,
  'status', t.status,
  'attempts', t.attempts_count,
  'max_attempts', coalesce(s.opt_max_attempts, f.opt_max_attempts),
  'queue', t.queue_name,
  'message_id', t.message_id::text,
  'worker_id', t.last_worker_id,
  'queued_seconds', round(extract(epoch from coalesce(t.started_at, clock_timestamp()) - t.queued_at), 6),
  'ran_seconds', round(extract(epoch from coalesce(t.completed_at, t.failed_at, clock_timestamp()) - t.started_at), 6),
  'requeued', t.requeued_count,
  'crashes', t.crash_count,
  'stalled', t.permanently_stalled_at is not null and t.status = 'started',
  'error', t.error_message)
from pgflow.step_tasks t
join pgflow.flows f using (flow_slug)
join pgflow.steps s using (flow_slug, step_slug)
where t.run_id = $1::uuid and ($2::text is null or t.status = $2::text)
order by s.step_index, t.task_index
)sql";

// $1: a run or null, $2: a flow or null.
constexpr std::string_view kRequeue = R"sql(
select json_build_object('run_id', o.run_id, 'step', o.step_slug, 'task_index', o.task_index, 'outcome', o.outcome)
from pgflow.requeue_tasks((
  select coalesce(jsonb_agg(jsonb_build_object('run_id', t.run_id, 'step_slug', t.step_slug, 'task_index', t.task_index)
    order by t.run_id, t.step_slug, t.task_index), '[]')
  from pgflow.stalled_tasks($2::text) t
  where $1::uuid is null or t.run_id = $1::uuid)) o
)sql";

std::string seconds_text(const std::optional<double>& seconds) {
  return duration_text(seconds);
}

}  // namespace

Outcome<Exit> task_list(const Common& common, const TaskListArguments& arguments) {
  Outcome<std::unique_ptr<Database>> database = Database::open_with_schema(common);
  if (!database) return tl::unexpected(database.error());
  Outcome<std::string> run_id = resolve_run(**database, arguments.run);
  if (!run_id) return tl::unexpected(run_id.error());
  auto rows = (*database)->column(kTasks, {*run_id, arguments.status});
  if (!rows) return tl::unexpected(rows.error());
  if (common.output != Output::text) {
    print_rows(common, "tasks", *rows);
    return Exit::ok;
  }
  Table table(
      "",
      {{"TASK"},
       {"STATUS"},
       {"ATTEMPT", Align::right},
       {"QUEUED", Align::right},
       {"RAN", Align::right},
       {"MESSAGE", Align::right},
       {"ERROR"}}
  );
  for (const std::string& row : *rows) {
    const auto task = from_json<TaskListed>(row);
    const std::string status = task.stalled ? "stalled" : task.status;
    const std::string error = task.error.value_or("");
    table.add(
        {fmt::format("{}[{}]", task.step, task.task_index),
         status == "failed" || status == "stalled" ? common.out.red(status) : status,
         fmt::format("{}/{}", task.attempts, task.max_attempts),
         seconds_text(task.queued_seconds),
         seconds_text(task.ran_seconds),
         task.message_id.value_or(std::string(kNothing)),
         error.substr(0, error.find('\n'))}
    );
  }
  print(rows->empty() ? "No tasks." : table.text());
  return Exit::ok;
}

Outcome<Exit> task_requeue(const Common& common, const TaskRequeueArguments& arguments) {
  if (!arguments.run && !arguments.flow && !arguments.all) {
    return refuse(
        Exit::usage,
        "requeue which tasks?",
        "It takes tasks that stalled for good, or whose message is gone.",
        "--run ID, --flow FLOW or --all"
    );
  }
  Outcome<std::unique_ptr<Database>> database = Database::open_with_schema(common);
  if (!database) return tl::unexpected(database.error());
  std::optional<std::string> run_id;
  if (arguments.run) {
    Outcome<std::string> found = resolve_run(**database, *arguments.run);
    if (!found) return tl::unexpected(found.error());
    run_id = *found;
  }
  if (arguments.flow) {
    Outcome<void> known = require_flow(**database, *arguments.flow);
    if (!known) return tl::unexpected(known.error());
  }
  auto rows = (*database)->column(kRequeue, {run_id, arguments.flow});
  if (!rows) return tl::unexpected(rows.error());
  if (common.output != Output::text) {
    print_rows(common, "tasks", *rows);
    return Exit::ok;
  }
  Table table("", {{"RUN"}, {"TASK"}, {"OUTCOME"}});
  for (const std::string& row : *rows) {
    const auto task = from_json<TaskRequeued>(row);
    table.add(
        {task.run_id,
         fmt::format("{}[{}]", task.step, task.task_index),
         task.outcome == "applied" ? "requeued" : task.outcome}
    );
  }
  print(rows->empty() ? "No task has stalled." : table.text());
  return Exit::ok;
}

}  // namespace pgflow::cli
