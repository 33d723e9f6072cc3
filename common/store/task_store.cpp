// pgflow.read_and_claim, complete_tasks, fail_tasks, release_tasks.
#include "store/task_store.hpp"

#include <algorithm>
#include <array>

#include "base/bug.hpp"
#include "json/writer.hpp"

namespace pgflow::store {
namespace {

constexpr pg::Query kReadAndClaim{
    "read_and_claim",
    "with answer as materialized ("
    "  select msg_id, outcome, run_id, step_slug, task_index, attempt, max_attempts, "
    "    timeout_seconds, input, flow_input"
    "    from pgflow.read_and_claim($1::text, $2::text, $3::text, $4::uuid, $5::int, $6::boolean))"
    "select answer.*, null as next_visible_ms from answer"
    "  union all "
    "select null, null, null, null, null, null, null, null, null, null,"
    "  ceil(extract(epoch from least(pgflow.next_visible_at($1::text), clock_timestamp() + '1 day')"
    "    - clock_timestamp()) * 1000)::bigint"
    "  where $7::boolean and not exists (select from answer)",
    pg::Query::kConnectionsTimeout,
    true,
};
constexpr pg::Query kCompleteTasks{
    "complete_tasks",
    "select run_id, step_slug, task_index, outcome from pgflow.complete_tasks($1::jsonb, $2::uuid)",
    pg::Query::kConnectionsTimeout,
    true,
};
constexpr pg::Query kFailTasks{
    "fail_tasks",
    "select run_id, step_slug, task_index, outcome from pgflow.fail_tasks($1::jsonb, $2::uuid)",
    pg::Query::kConnectionsTimeout,
    true,
};
constexpr pg::Query kReleaseTasks{
    "release_tasks",
    "select pgflow.release_tasks($1::uuid, $2::bigint[])",
};
// The name guards against a pid that was given to somebody else meanwhile.
constexpr pg::Query kEndBackend{
    "end_lost_backend",
    "select pg_catalog.pg_terminate_backend(pid, 1000) from pg_catalog.pg_stat_activity"
    "  where pid = $1::int and application_name = 'pgflow:' || $2::uuid",
};
constexpr pg::Query kReleaseLost{
    "release_lost_claims",
    "select pgflow.release_tasks($1::uuid, array("
    "  select t.message_id from pgflow.step_tasks t"
    "    where t.last_worker_id = $1::uuid and t.status = 'started'"
    "      and t.message_id <> all ($2::bigint[])))",
};

constexpr std::array<std::string_view, 4> kUnclaimedNames = {
    "started", "final", "unknown", "foreign"
};
constexpr std::array<std::string_view, 6> kSettleNames = {
    "applied", "already", "superseded", "late", "unknown", "malformed"
};

// The enumerator whose name SQL gave.
template <class Enum, std::size_t N>
Enum enumerator(const std::array<std::string_view, N>& names, std::string_view text) {
  const auto found = std::find(names.begin(), names.end(), text);
  if (found == names.end())
    PGFLOW_BUG("SQL answered with an outcome that this program does not know");
  return static_cast<Enum>(found - names.begin());
}

ClaimedTask task_in(const pg::Row& row) {
  return {
      .msg_id = MessageId(row[0].int64()),
      .run_id = row[2].uuid<RunIdTag>(),
      .step_slug = row[3].text(),
      .task_index = row[4].integer(),
      .attempt = row[5].integer(),
      .max_attempts = row[6].integer(),
      .timeout = std::chrono::seconds(row[7].integer()),
      .input = row[8].text(),
      .flow_input = row[9].optional_text(),
  };
}

ClaimAnswer claim_in(const pg::Rows& rows) {
  ClaimAnswer answer;
  answer.tasks.reserve(static_cast<std::size_t>(rows.size()));
  for (const pg::Row row : rows) {
    if (row[0].is_null()) {
      if (!row[10].is_null()) answer.next_visible_in = std::chrono::milliseconds(row[10].int64());
    } else if (row[1].view() == "claimed") {
      answer.tasks.push_back(task_in(row));
    } else {
      answer.others.push_back(
          {MessageId(row[0].int64()), enumerator<Unclaimed>(kUnclaimedNames, row[1].view())}
      );
    }
  }
  return answer;
}

Settled settled_in(const pg::Row& row) {
  return {
      .task = {row[0].uuid<RunIdTag>(), row[1].text(), row[2].integer()},
      .outcome = enumerator<SettleOutcome>(kSettleNames, row[3].view()),
  };
}

void write_key(json::Writer& writer, const TaskKey& task, const std::optional<int>& attempt) {
  writer.key("run_id").string(task.run_id.text());
  writer.key("step_slug").string(task.step_slug);
  writer.key("task_index").integer(task.task_index);
  if (attempt) writer.key("attempt").integer(*attempt);
}

std::string items_json(std::span<const Completion> items) {
  json::Writer writer;
  writer.begin_array();
  for (const Completion& item : items) {
    writer.begin_object();
    write_key(writer, item.task, item.attempt);
    writer.key("output").raw(item.output);
    writer.end_object();
  }
  writer.end_array();
  return writer.take();
}

// jsonb and text hold every character except U+0000.
std::string without_nul(std::string text) {
  std::replace(text.begin(), text.end(), '\0', ' ');
  return text;
}

std::string items_json(std::span<const Failure> items) {
  json::Writer writer;
  writer.begin_array();
  for (const Failure& item : items) {
    writer.begin_object();
    write_key(writer, item.task, item.attempt);
    writer.key("error").string(without_nul(item.error));
    if (item.permanent) writer.key("permanent").boolean(true);
    writer.end_object();
  }
  writer.end_array();
  return writer.take();
}

// A busy server takes seconds to parse, compress and write what is big: not a reason to give it up.
pg::Query patient(pg::Query query, std::size_t bytes) {
  query.timeout = std::chrono::seconds(30 + 4 * (bytes >> 20U));
  return query;
}

int count_in(const pg::Rows& rows) {
  return rows[0][0].integer();
}

}  // namespace

std::string_view name(Unclaimed why) {
  return kUnclaimedNames.at(static_cast<std::size_t>(why));
}

std::string_view name(SettleOutcome outcome) {
  return kSettleNames.at(static_cast<std::size_t>(outcome));
}

void TaskStore::read_and_claim(const ClaimRequest& request, Answer<ClaimAnswer> answer) {
  connection_.query(
      kReadAndClaim,
      {request.queue_name,
       request.flow_slug,
       request.step_slug,
       request.worker_id,
       request.quantity,
       request.with_flow_input,
       request.with_next_visible},
      reading(claim_in, std::move(answer))
  );
}

void TaskStore::complete(
    std::span<const Completion> items, WorkerId worker, Answer<std::vector<Settled>> answer
) {
  std::string json = items_json(items);
  const pg::Query query = patient(kCompleteTasks, json.size());
  connection_.query(query, {std::move(json), worker}, reading_each(settled_in, std::move(answer)));
}

void TaskStore::fail(
    std::span<const Failure> items, WorkerId worker, Answer<std::vector<Settled>> answer
) {
  connection_.query(
      kFailTasks, {items_json(items), worker}, reading_each(settled_in, std::move(answer))
  );
}

void TaskStore::release(WorkerId worker, Answer<int> answer) {
  connection_.query(kReleaseTasks, {worker, std::nullopt}, reading(count_in, std::move(answer)));
}

void TaskStore::release(WorkerId worker, std::span<const MessageId> only, Answer<int> answer) {
  connection_.query(
      kReleaseTasks, {worker, pg::Param::array(only)}, reading(count_in, std::move(answer))
  );
}

void TaskStore::release_lost(
    WorkerId worker, int backend_pid, std::span<const MessageId> in_hand, Answer<int> answer
) {
  // Two statements: the second must see what the backend committed before it ended. When the first
  // fails, the second has no connection either, or says the same.
  connection_.query(kEndBackend, {backend_pid, worker}, [](const Result<pg::Rows>&) {});
  connection_.query(
      kReleaseLost, {worker, pg::Param::array(in_hand)}, reading(count_in, std::move(answer))
  );
}

}  // namespace pgflow::store
