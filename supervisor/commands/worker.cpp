// `pgflow worker list`, `worker show`: the workers that the database knows, on all hosts.
#include <fmt/format.h>

#include <algorithm>

#include "supervisor/commands/command.hpp"
#include "supervisor/commands/report.hpp"
#include "supervisor/database.hpp"
#include "supervisor/room.hpp"
#include "supervisor/runs.hpp"
#include "supervisor/views.hpp"

namespace pgflow::cli {
namespace {

// $1: with stopped ones, $2: the beginning of an id.
constexpr std::string_view kWorkers = R"sql(
select json_build_object(
  'worker_id', w.worker_id,
  'function', w.function_name,
  'queue', w.queue_name,
  'flow', r.flow_slug,
  'step', r.step_slug,
  'pid', w.pid,
  'host', w.host_id,
  'revision', w.revision,
  'state', case
    when w.stopped_at is not null then 'stopped'
    when w.deprecated_at is not null then 'deprecated'
    when w.last_heartbeat_at > clock_timestamp() - interval '6 seconds' then 'live'
    else 'stale' end,
  'started_at', w.started_at,
  'stopped_at', w.stopped_at,
  'heartbeat_age_seconds', round(extract(epoch from clock_timestamp() - w.last_heartbeat_at), 3),
  'tasks', t.list)
from pgflow.workers w
left join lateral (
  select s.flow_slug, case when f.queue_mode = 'step' then s.step_slug end as step_slug
  from pgflow.steps s join pgflow.flows f using (flow_slug)
  where s.queue_name = w.queue_name limit 1
) r on true
cross join lateral (
  select coalesce(json_agg(json_build_object(
    'run_id', t.run_id, 'step', t.step_slug, 'task_index', t.task_index, 'attempt', t.attempts_count,
    'message_id', t.message_id::text, 'started_at', t.started_at) order by t.started_at, t.run_id, t.task_index), '[]') as list
  from pgflow.step_tasks t
  where t.last_worker_id = w.worker_id and t.status = 'started'
) t
where ($1::boolean or w.stopped_at is null) and starts_with(w.worker_id::text, $2::text)
order by w.queue_name, w.started_at, w.worker_id
)sql";

std::string painted(const Style& style, const std::string& state) {
  if (state == "live") return style.green(state);
  if (state == "stale") return style.red(state);
  return style.dim(state);
}

// What the supervisor here, if one answers, remembers of the end of its worker.
std::optional<supervisor::ExitDocument> exit_of(
    const Common& common, const std::string& worker_id
) {
  const Outcome<Room> room = Room::find(common);
  if (!room) return std::nullopt;
  const Outcome<std::string> answer = room->get("/v1/exits");
  if (!answer) return std::nullopt;
  for (auto& exit : from_json<supervisor::ExitsDocument>(*answer).exits) {
    if (exit.worker_id == worker_id) return exit;
  }
  return std::nullopt;
}

}  // namespace

Outcome<Exit> worker_list(const Common& common, bool all) {
  Outcome<std::unique_ptr<Database>> database = Database::open_with_schema(common);
  if (!database) return tl::unexpected(database.error());
  auto rows = (*database)->column(kWorkers, {all ? "t" : "f", ""});
  if (!rows) return tl::unexpected(rows.error());
  if (common.output != Output::text) {
    print_rows(common, "workers", *rows);
    return Exit::ok;
  }
  Table table(
      "",
      {{"WORKER"},
       {"FUNCTION"},
       {"STATE"},
       {"HEARTBEAT", Align::right},
       {"TASKS", Align::right},
       {"PID", Align::right},
       {"HOST"},
       {"STARTED"}}
  );
  for (const std::string& row : *rows) {
    const auto worker = from_json<WorkerListed>(row);
    table.add(
        {worker.worker_id,
         worker.function,
         painted(common.out, worker.state),
         duration_text(worker.heartbeat_age_seconds),
         std::to_string(worker.tasks.size()),
         worker.pid ? std::to_string(*worker.pid) : std::string(kNothing),
         worker.host.value_or(std::string(kNothing)),
         time_text(worker.started_at)}
    );
  }
  print(rows->empty() ? "No workers." : table.text());
  return Exit::ok;
}

Outcome<Exit> worker_show(const Common& common, const std::string& beginning) {
  std::string id = beginning;
  std::ranges::transform(id, id.begin(), [](unsigned char c) { return std::tolower(c); });
  Outcome<std::unique_ptr<Database>> database = Database::open_with_schema(common);
  if (!database) return tl::unexpected(database.error());
  auto rows = (*database)->column(kWorkers, {"t", id});
  if (!rows) return tl::unexpected(rows.error());
  if (rows->size() != 1) {
    return refuse(
        rows->empty() ? Exit::not_found : Exit::usage,
        rows->empty() ? fmt::format("no worker \"{}\"", beginning)
                      : fmt::format("\"{}\" is the beginning of several worker ids", beginning),
        "",
        "`pgflow worker list --all` shows worker ids."
    );
  }
  if (common.output != Output::text) {
    print(rows->front());
    return Exit::ok;
  }
  const auto worker = from_json<WorkerListed>(rows->front());
  Table table("", {{""}, {""}});
  table.add({"worker", worker.worker_id});
  table.add({"state", painted(common.out, worker.state)});
  table.add({"function", worker.function});
  table.add({"queue", worker.queue});
  table.add({"host", worker.host.value_or(std::string(kNothing))});
  table.add({"pid", worker.pid ? std::to_string(*worker.pid) : std::string(kNothing)});
  table.add({"revision", worker.revision.value_or(std::string(kNothing))});
  table.add({"started", time_text(worker.started_at)});
  if (worker.stopped_at) table.add({"stopped", time_text(*worker.stopped_at)});
  table.add({"heartbeat", duration_text(worker.heartbeat_age_seconds) + " ago"});
  for (const auto& task : worker.tasks) {
    table.add(
        {"in hand",
         fmt::format(
             "run {}  {}[{}]  attempt {}", task.run_id, task.step, task.task_index, task.attempt
         )}
    );
  }
  if (const auto exit = exit_of(common, worker.worker_id)) {
    table.add({"ended", exit->text});
    for (const auto& line : exit->last_output) table.add({"last said", line});
  }
  print(table.text());
  return Exit::ok;
}

}  // namespace pgflow::cli
