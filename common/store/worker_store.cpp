// pgflow.register_worker, heartbeat, mark_worker_stopped, release_worker and the table of workers.
#include "store/worker_store.hpp"

#include "base/bug.hpp"
#include "store/timestamps.hpp"

namespace pgflow::store {
namespace {

constexpr pg::Query kRegister{
    "register_worker",
    "select pgflow.register_worker($1::uuid, $2::text, $3::text, $4::text, $5::int, $6::text, "
    "$7::text)",
};
constexpr pg::Query kHeartbeat{
    "heartbeat",
    "select is_deprecated, function_enabled from pgflow.heartbeat($1::uuid)",
    std::chrono::seconds(10),
};
constexpr pg::Query kMarkStopped{
    "mark_worker_stopped",
    "select pgflow.mark_worker_stopped($1::uuid)",
};
constexpr pg::Query kRelease{
    "release_worker",
    "select pgflow.release_worker($1::uuid, $2::text, $3::bigint[])",
};
constexpr pg::Query kList{
    "list_workers",
    "select w.worker_id, w.queue_name, w.function_name,"
    "  case when w.stopped_at is not null then 'stopped' when w.deprecated_at is not null then "
    "'deprecated'"
    "    when w.last_heartbeat_at > clock_timestamp() - interval '6 seconds' then 'live' else "
    "'silent' end,"
    "  (select count(*) from pgflow.step_tasks t where t.last_worker_id = w.worker_id and t.status "
    "= 'started'),"
    "  (extract(epoch from clock_timestamp() - w.last_heartbeat_at) * 1000)::bigint,"
    "  " PGFLOW_UTC("w.started_at") ", " PGFLOW_UTC("w.last_heartbeat_at"
    ) ", w.pid, w.host_id, w.revision"
      "  from pgflow.workers w where $1::boolean or w.stopped_at is null"
      "  order by w.started_at desc, w.worker_id",
};

WorkerState state_in(std::string_view text) {
  if (text == "live") return WorkerState::live;
  if (text == "silent") return WorkerState::silent;
  if (text == "deprecated") return WorkerState::deprecated;
  if (text == "stopped") return WorkerState::stopped;
  PGFLOW_BUG("unknown state of a worker");
}

WorkerRow worker_in(const pg::Row& row) {
  return {
      .worker_id = row[0].uuid<WorkerIdTag>(),
      .queue_name = row[1].text(),
      .function_name = row[2].text(),
      .state = state_in(row[3].view()),
      .tasks_in_hand = row[4].integer(),
      .heartbeat_age_seconds = static_cast<double>(row[5].int64()) / 1000.0,
      .started_at = row[6].text(),
      .last_heartbeat_at = row[7].text(),
      .pid = row[8].is_null() ? std::nullopt : std::optional(row[8].integer()),
      .host_id = row[9].optional_text(),
      .revision = row[10].optional_text(),
  };
}

Heartbeat heartbeat_in(const pg::Rows& rows) {
  if (rows.empty()) return {};
  return {.known = true, .deprecated = rows[0][0].boolean(), .enabled = rows[0][1].boolean()};
}

}  // namespace

std::string_view name(WorkerState state) {
  switch (state) {
    case WorkerState::live:
      return "live";
    case WorkerState::silent:
      return "silent";
    case WorkerState::deprecated:
      return "deprecated";
    case WorkerState::stopped:
      return "stopped";
  }
  return "stopped";
}

void WorkerStore::register_worker(const Registration& registration, Answer<void> answer) {
  connection_.query(
      kRegister,
      {registration.worker_id,
       registration.queue_name,
       registration.function_name,
       registration.start_mode,
       registration.pid,
       registration.host_id,
       registration.revision},
      reading_nothing(std::move(answer))
  );
}

void WorkerStore::heartbeat(WorkerId worker, Answer<Heartbeat> answer) {
  connection_.query(kHeartbeat, {worker}, reading(heartbeat_in, std::move(answer)));
}

void WorkerStore::mark_stopped(WorkerId worker, Answer<void> answer) {
  connection_.query(kMarkStopped, {worker}, reading_nothing(std::move(answer)));
}

void WorkerStore::release(const Release& release, Answer<int> answer) {
  connection_.query(
      kRelease,
      {release.worker_id, release.reason, pg::Param::array(release.guilty)},
      reading([](const pg::Rows& rows) { return rows[0][0].integer(); }, std::move(answer))
  );
}

void WorkerStore::list(bool with_stopped, Answer<std::vector<WorkerRow>> answer) {
  connection_.query(kList, {with_stopped}, reading_each(worker_in, std::move(answer)));
}

}  // namespace pgflow::store
