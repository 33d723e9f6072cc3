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
// A row for each lost task, at least one.
constexpr pg::Query kHeartbeat{
    "heartbeat",
    "select is_known, coalesce(is_deprecated, false), coalesce(function_enabled, true), lost"
    "  from pgflow.heartbeat_with_tasks($1::uuid, $2::bigint[], $3::int[])"
    "  left join lateral unnest(lost_positions) lost on true",
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

Heartbeat heartbeat_in(std::span<const TaskInHand> in_hand, const pg::Rows& rows) {
  Heartbeat heartbeat{
      .known = rows[0][0].boolean(),
      .deprecated = rows[0][1].boolean(),
      .enabled = rows[0][2].boolean(),
  };
  for (const pg::Row row : rows) {
    if (row[3].is_null()) continue;
    heartbeat.lost.push_back(in_hand[static_cast<std::size_t>(row[3].integer() - 1)]);
  }
  return heartbeat;
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

void WorkerStore::heartbeat(
    WorkerId worker, std::vector<TaskInHand> in_hand, Answer<Heartbeat> answer
) {
  std::vector<MessageId> ids;
  std::vector<int> attempts;
  for (const TaskInHand& task : in_hand) {
    ids.push_back(task.msg_id);
    attempts.push_back(task.attempt);
  }
  connection_.query(
      kHeartbeat,
      {worker, pg::Param::array(ids), pg::Param::array(attempts)},
      reading(
          [in_hand = std::move(in_hand)](const pg::Rows& rows) {
            return heartbeat_in(in_hand, rows);
          },
          std::move(answer)
      )
  );
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
