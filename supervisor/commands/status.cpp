// `pgflow status`: the supervisor, if one answers here, and from the database flows, their steps'
// queues and work, and the workers.
#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "supervisor/commands/command.hpp"
#include "supervisor/commands/report.hpp"
#include "supervisor/database.hpp"
#include "supervisor/room.hpp"
#include "supervisor/views.hpp"

namespace pgflow::cli {
namespace {

// $1: a flow, or null for all.
constexpr std::string_view kStatus = R"sql(
with routes as (
  select f.flow_slug, f.queue_mode, s.step_index, s.step_slug, s.queue_name
  from pgflow.flows f
  join pgflow.steps s using (flow_slug)
  where $1::text is null or f.flow_slug = $1::text
),
tasks as (
  select t.flow_slug, t.step_slug,
    count(*) as tasks,
    sum(t.attempts_count) as attempts,
    count(*) filter (where t.status = 'queued') as queued,
    count(*) filter (where t.status = 'started') as in_flight,
    count(*) filter (where t.status = 'completed') as completed,
    count(*) filter (where t.status = 'failed') as failed,
    min(t.queued_at) filter (where t.status = 'queued') as oldest_queued_at,
    -- The first attempt only: a retry's start says nothing about how long the task waited for a worker.
    percentile_cont(array[0.5, 0.95]) within group (order by extract(epoch from t.started_at - t.queued_at))
      filter (where t.attempts_count = 1 and t.started_at is not null) as queue_delay,
    percentile_cont(array[0.5, 0.95]) within group (order by extract(epoch from
      coalesce(t.completed_at, t.failed_at) - t.started_at))
      filter (where t.status in ('completed', 'failed')) as run_time
  from pgflow.step_tasks t
  where $1::text is null or t.flow_slug = $1::text
  group by t.flow_slug, t.step_slug
),
skipped as (
  select ss.flow_slug, ss.step_slug, count(*) as skipped
  from pgflow.step_states ss
  where ss.status = 'skipped' and ($1::text is null or ss.flow_slug = $1::text)
  group by ss.flow_slug, ss.step_slug
),
listed as (
  select distinct lower(q.queue_name) as queue_name from pgmq.list_queues() q
),
steps as (
  select r.flow_slug, r.queue_mode, r.step_index, json_build_object(
    'step', r.step_slug,
    'queue', r.queue_name,
    'queue_exists', l.queue_name is not null,
    'live_workers', (
      select count(*) from pgflow.workers w
      where w.queue_name = r.queue_name and w.stopped_at is null and w.deprecated_at is null
        and w.last_heartbeat_at > clock_timestamp() - interval '6 seconds'),
    -- A queue of its own knows what is visible now; in a shared queue only the tasks are told apart.
    'ready', case when r.queue_mode = 'step' and l.queue_name is not null
      then (select m.queue_visible_length from pgmq.metrics(r.queue_name) m)
      else coalesce(t.queued, 0) end,
    'queued', coalesce(t.queued, 0),
    'in_flight', coalesce(t.in_flight, 0),
    'oldest_seconds', round(extract(epoch from clock_timestamp() - t.oldest_queued_at), 3),
    'tasks', coalesce(t.tasks, 0),
    'attempts', coalesce(t.attempts, 0),
    'completed', coalesce(t.completed, 0),
    'failed', coalesce(t.failed, 0),
    'skipped', coalesce(s.skipped, 0),
    'queue_delay_seconds', json_build_object('p50', round(t.queue_delay[1]::numeric, 6), 'p95', round(t.queue_delay[2]::numeric, 6)),
    'run_time_seconds', json_build_object('p50', round(t.run_time[1]::numeric, 6), 'p95', round(t.run_time[2]::numeric, 6))
  ) as step
  from routes r
  left join tasks t using (flow_slug, step_slug)
  left join skipped s using (flow_slug, step_slug)
  left join listed l on l.queue_name = lower(r.queue_name)
),
flows as (
  select f.flow_slug, json_build_object(
    'flow', f.flow_slug,
    'queue_mode', f.queue_mode,
    'runs', (
      select json_build_object(
        'started', count(*) filter (where r.status = 'started'),
        'completed', count(*) filter (where r.status = 'completed'),
        'failed', count(*) filter (where r.status = 'failed'))
      from pgflow.runs r where r.flow_slug = f.flow_slug),
    'steps', coalesce((select json_agg(s.step order by s.step_index) from steps s where s.flow_slug = f.flow_slug), '[]')
  ) as flow
  from pgflow.flows f
  where $1::text is null or f.flow_slug = $1::text
),
workers as (
  select w.queue_name, w.started_at, json_build_object(
    'worker_id', w.worker_id,
    'function', w.function_name,
    'queue', w.queue_name,
    'flow', r.flow_slug,
    'step', r.step_slug,
    'pid', w.pid,
    'host', w.host_id,
    'state', case
      when w.stopped_at is not null then 'stopped'
      when w.deprecated_at is not null then 'deprecated'
      when w.last_heartbeat_at > clock_timestamp() - interval '6 seconds' then 'live'
      else 'stale' end,
    'uptime_seconds', round(extract(epoch from coalesce(w.stopped_at, clock_timestamp()) - w.started_at), 3),
    'heartbeat_age_seconds', round(extract(epoch from clock_timestamp() - w.last_heartbeat_at), 3)
  ) as worker
  from pgflow.workers w
  left join routes r on r.queue_mode = 'step' and r.queue_name = w.queue_name
  where (w.stopped_at is null or w.stopped_at > clock_timestamp() - interval '1 hour')
    and ($1::text is null or w.queue_name in (select queue_name from routes))
)
select json_build_object(
  'flows', coalesce((select json_agg(f.flow order by f.flow_slug) from flows f), '[]'),
  'workers', coalesce((select json_agg(w.worker order by w.queue_name, w.started_at, w.worker->>'worker_id') from workers w), '[]')
)
)sql";

std::string count_text(const Style& style, std::int64_t count, bool bad) {
  std::string text = std::to_string(count);
  return bad && count > 0 ? style.red(text) : text;
}

void print_flow(const Style& style, const FlowStatus& flow) {
  print(fmt::format(
      "{}  {}  runs: {} started, {} completed, {} failed\n",
      style.bold(flow.flow),
      flow.queue_mode == "step" ? "a queue for each step" : "one queue",
      flow.runs.started,
      flow.runs.completed,
      flow.runs.failed
  ));
  Table now(
      "  ",
      {{"STEP"},
       {"QUEUE"},
       {"WORKERS", Align::right},
       {"READY", Align::right},
       {"IN-FLIGHT", Align::right},
       {"OLDEST", Align::right}}
  );
  Table history(
      "  ",
      {{"STEP"},
       {"TASKS", Align::right},
       {"ATTEMPTS", Align::right},
       {"COMPLETED", Align::right},
       {"FAILED", Align::right},
       {"SKIPPED", Align::right},
       {"QUEUED P50", Align::right},
       {"P95", Align::right},
       {"RAN P50", Align::right},
       {"P95", Align::right}}
  );
  for (const StepStatus& step : flow.steps) {
    now.add(
        {step.step,
         step.queue_exists ? step.queue : style.red(step.queue + " (missing)"),
         step.live_workers == 0 ? style.red("0") : std::to_string(step.live_workers),
         std::to_string(step.ready),
         std::to_string(step.in_flight),
         duration_text(step.oldest_seconds)}
    );
    history.add(
        {step.step,
         std::to_string(step.tasks),
         std::to_string(step.attempts),
         std::to_string(step.completed),
         count_text(style, step.failed, true),
         std::to_string(step.skipped),
         duration_text(step.queue_delay_seconds.p50),
         duration_text(step.queue_delay_seconds.p95),
         duration_text(step.run_time_seconds.p50),
         duration_text(step.run_time_seconds.p95)}
    );
  }
  if (now.empty()) return;
  print(now.text() + "\n" + history.text() + "\n");
}

std::string painted_state(const Style& style, const std::string& state) {
  if (state == "live") return style.green(state);
  if (state == "stale") return style.red(state);
  return style.dim(state);
}

void print_workers(const Style& style, const std::vector<WorkerStatus>& workers) {
  Table table(
      "",
      {{"WORKER"},
       {"STEP"},
       {"PID", Align::right},
       {"STATE"},
       {"UP", Align::right},
       {"HEARTBEAT", Align::right}}
  );
  for (const WorkerStatus& worker : workers) {
    table.add(
        {worker.worker_id.substr(0, 8),
         worker.step ? *worker.flow + "/" + *worker.step : worker.function,
         worker.pid ? std::to_string(*worker.pid) : std::string(kNothing),
         painted_state(style, worker.state),
         duration_text(worker.uptime_seconds),
         duration_text(worker.heartbeat_age_seconds) + " ago"}
    );
  }
  if (!table.empty()) print(table.text());
}

std::string database_text(const Style& style, const supervisor::DatabaseDocument& database) {
  if (database.up) return fmt::format("db up{}", database.version ? " " + *database.version : "");
  return style.red("db down") + (database.error ? ": " + *database.error : "");
}

void print_pools(const Style& style, const supervisor::StatusDocument& view) {
  Table pools(
      "  ",
      {{"POOL"},
       {"STATE"},
       {"READY", Align::right},
       {"WANTED", Align::right},
       {"BUSY", Align::right},
       {"AT ONCE", Align::right},
       {""}}
  );
  for (const supervisor::PoolDocument& pool : view.pools) {
    pools.add(
        {name_of(pool),
         painted_pool_state(style, pool.state),
         std::to_string(pool.ready),
         std::to_string(pool.processes),
         std::to_string(pool.busy),
         std::to_string(pool.ready * pool.max_concurrent),
         pool.reason && !pool.reason->empty() ? *pool.reason : override_text(pool)}
    );
  }
  print(pools.text());
}

// The newest few; a worker that did as it was told is no news.
void print_exits(const Style& style, const supervisor::StatusDocument& view) {
  constexpr std::size_t kShown = 5;
  constexpr std::size_t kLines = 3;
  Table exits("  ", {{"ENDED"}, {"POOL"}, {"WORKER"}, {"REASON"}, {""}});
  std::size_t shown = 0;
  for (const supervisor::ExitDocument& exit : view.exits) {
    if (exit.reason == "drained" || shown++ == kShown) continue;
    exits.add(
        {exit.time.substr(11, 8),
         exit.step ? exit.flow + "/" + *exit.step : exit.flow,
         exit.worker_id.substr(0, 8),
         style.red(exit.reason),
         exit.text}
    );
    if (shown == kShown) break;
  }
  if (exits.empty()) return;
  print("\n" + exits.text());
  const auto spoke = std::ranges::find_if(view.exits, [](const supervisor::ExitDocument& exit) {
    return exit.reason != "drained" && !exit.last_output.empty();
  });
  if (spoke == view.exits.end()) return;
  print(fmt::format("  last said by {}:", spoke->worker_id.substr(0, 8)));
  const std::span lines(spoke->last_output);
  for (const auto& line : lines.last(std::min(kLines, lines.size()))) print("    " + line);
}

void print_supervisor(const Style& style, const supervisor::StatusDocument& view) {
  print(fmt::format(
      "{}  {}  pid {}  up {}  config {}  {}{}\n",
      style.bold("SUPERVISOR"),
      view.phase == "running" ? style.green(view.phase) : style.yellow(view.phase),
      view.pid,
      duration_text(view.uptime_seconds),
      view.config,
      database_text(style, view.database),
      view.pending_releases > 0
          ? "  " + style.red(counted(view.pending_releases, "release") + " pending")
          : ""
  ));
  print_pools(style, view);
  print_exits(style, view);
  print("\n");
}

// Nobody answers: the database says enough.
std::optional<supervisor::StatusDocument> ask_supervisor(const Common& common) {
  const Outcome<Room> room = Room::find(common);
  if (!room) return std::nullopt;
  Outcome<supervisor::StatusDocument> view = room->status();
  if (!view) return std::nullopt;
  return std::move(*view);
}

}  // namespace

Outcome<Exit> status(const Common& common, const StatusArguments& arguments) {
  std::optional<supervisor::StatusDocument> supervisor = ask_supervisor(common);
  if (supervisor && arguments.flow) {
    std::erase_if(supervisor->pools, [&](const supervisor::PoolDocument& pool) {
      return pool.flow != *arguments.flow;
    });
  }
  // What it says is worth most when the database is away.
  if (supervisor && common.output == Output::text) print_supervisor(common.out, *supervisor);
  Outcome<std::unique_ptr<Database>> database = Database::open_with_schema(common);
  if (!database) return tl::unexpected(database.error());
  if (arguments.flow) {
    Outcome<void> known = require_flow(**database, *arguments.flow);
    if (!known) return tl::unexpected(known.error());
  }
  Outcome<std::optional<std::string>> document = (*database)->value(kStatus, {arguments.flow});
  if (!document) return tl::unexpected(document.error());
  if (common.output == Output::json) {
    const std::string first =
        supervisor ? "{\"supervisor\":" + to_json(*supervisor) + "," : std::string("{");
    print(first + (**document).substr((**document).find('{') + 1));
    return Exit::ok;
  }
  const auto view = from_json<StatusView>(**document);
  for (const FlowStatus& flow : view.flows) print_flow(common.out, flow);
  print_workers(common.out, view.workers);
  if (view.flows.empty()) print("No flow is compiled in this database.");
  if (view.workers.empty() && !view.flows.empty()) print("No workers.");
  return Exit::ok;
}

}  // namespace pgflow::cli
