// pgflow.start_flow, get_run_with_states and the tables of a run.
#include "store/run_store.hpp"

#include "json/value.hpp"
#include "store/timestamps.hpp"

namespace pgflow::store {
namespace {

#define PGFLOW_RUN_COLUMNS                                                         \
  "r.run_id, r.flow_slug, r.status, r.remaining_steps, " PGFLOW_UTC("r.started_at" \
  ) ", " PGFLOW_UTC("coalesce(r.completed_at, r.failed_at)") ", r.output"

constexpr pg::Query kStart{
    "start_flow",
    "select " PGFLOW_RUN_COLUMNS " from pgflow.start_flow($1::text, $2::jsonb, $3::uuid) r",
};
constexpr pg::Query kStartMany{
    "start_flows",
    "select count(*) from pgflow.start_flows($1::text, $2::jsonb[], $3::uuid[])",
    std::chrono::minutes(5),
};
constexpr pg::Query kRead{
    "get_run_with_states",
    "select pgflow.get_run_with_states($1::uuid)",
};
constexpr pg::Query kFind{
    "find_run",
    "select " PGFLOW_RUN_COLUMNS " from pgflow.runs r where r.run_id = $1::uuid",
};
constexpr pg::Query kSteps{
    "run_steps",
    "select s.step_slug, s.step_index, s.step_type, ss.status,"
    "  (select coalesce(jsonb_agg(d.dep_slug order by p.step_index), '[]') from pgflow.deps d"
    "    join pgflow.steps p on p.flow_slug = d.flow_slug and p.step_slug = d.dep_slug"
    "    where d.flow_slug = s.flow_slug and d.step_slug = s.step_slug),"
    "  s.queue_name, ss.initial_tasks, ss.remaining_tasks, ss.error_message, ss.skip_reason,"
    "  " PGFLOW_UTC("ss.started_at"
    ) ", " PGFLOW_UTC("coalesce(ss.completed_at, ss.failed_at, ss.skipped_at)"
    ) "  from pgflow.step_states ss"
      "  join pgflow.steps s on s.flow_slug = ss.flow_slug and s.step_slug = ss.step_slug"
      "  where ss.run_id = $1::uuid order by s.step_index",
};
constexpr pg::Query kTasks{
    "run_tasks",
    "select t.step_slug, t.task_index, t.status, t.attempts_count,"
    "  coalesce(s.opt_max_attempts, f.opt_max_attempts), t.queue_name, t.message_id, "
    "t.error_message,"
    "  " PGFLOW_UTC("t.queued_at") ", " PGFLOW_UTC("t.started_at"
    ) ","
      "  " PGFLOW_UTC("coalesce(t.completed_at, t.failed_at)"
      ) ", t.last_worker_id, t.requeued_count, t.crash_count,"
        "  t.permanently_stalled_at is not null"
        "  from pgflow.step_tasks t"
        "  join pgflow.flows f on f.flow_slug = t.flow_slug"
        "  join pgflow.steps s on s.flow_slug = t.flow_slug and s.step_slug = t.step_slug"
        "  where t.run_id = $1::uuid order by s.step_index, t.task_index",
};
constexpr pg::Query kList{
    "list_runs",
    "select " PGFLOW_RUN_COLUMNS
    " from pgflow.runs r"
    "  where ($1::text is null or r.flow_slug = $1::text) and ($2::text is null or r.status = "
    "$2::text)"
    "    and ($3::bigint is null or r.started_at > now() - $3::bigint * interval '1 second')"
    "    and starts_with(r.run_id::text, $4::text)"
    "  order by r.started_at desc, r.run_id desc limit $5::int",
};

#undef PGFLOW_RUN_COLUMNS

RunRow run_in(const pg::Row& row) {
  return {
      .run_id = row[0].uuid<RunIdTag>(),
      .flow_slug = row[1].text(),
      .status = row[2].text(),
      .remaining_steps = row[3].integer(),
      .started_at = row[4].text(),
      .ended_at = row[5].optional_text(),
      .output = row[6].optional_text(),
  };
}

std::optional<int> optional_integer(const pg::Value& value) {
  return value.is_null() ? std::nullopt : std::optional(value.integer());
}

std::vector<std::string> texts_in(std::string_view json_array) {
  std::vector<std::string> texts;
  const auto array = json::parse(json_array);
  if (!array) PGFLOW_BUG("jsonb that is not JSON");
  for (const json::Value& item : array->items) texts.push_back(item.text);
  return texts;
}

StepRow step_in(const pg::Row& row) {
  return {
      .step_slug = row[0].text(),
      .step_index = row[1].integer(),
      .step_type = row[2].text(),
      .status = row[3].text(),
      .depends_on = texts_in(row[4].view()),
      .queue_name = row[5].text(),
      .initial_tasks = optional_integer(row[6]),
      .remaining_tasks = optional_integer(row[7]),
      .error_message = row[8].optional_text(),
      .skip_reason = row[9].optional_text(),
      .started_at = row[10].optional_text(),
      .ended_at = row[11].optional_text(),
  };
}

TaskRow task_in(const pg::Row& row) {
  return {
      .step_slug = row[0].text(),
      .task_index = row[1].integer(),
      .status = row[2].text(),
      .attempts = row[3].integer(),
      .max_attempts = row[4].integer(),
      .queue_name = row[5].text(),
      .msg_id = row[6].is_null() ? std::nullopt : std::optional(MessageId(row[6].int64())),
      .error_message = row[7].optional_text(),
      .queued_at = row[8].text(),
      .started_at = row[9].optional_text(),
      .ended_at = row[10].optional_text(),
      .last_worker_id =
          row[11].is_null() ? std::nullopt : std::optional(row[11].uuid<WorkerIdTag>()),
      .requeued = row[12].integer(),
      .crashes = row[13].integer(),
      .permanently_stalled = row[14].boolean(),
  };
}

std::optional<RunRow> first_run(const pg::Rows& rows) {
  return rows.empty() ? std::nullopt : std::optional(run_in(rows[0]));
}

}  // namespace

void RunStore::start(const StartRequest& request, Answer<RunRow> answer) {
  connection_.query(
      kStart,
      {request.flow_slug, request.input, request.run_id},
      reading([](const pg::Rows& rows) { return run_in(rows[0]); }, std::move(answer))
  );
}

void RunStore::start_many(
    const std::string& flow_slug,
    std::span<const std::string> inputs,
    std::span<const RunId> runs,
    Answer<void> answer
) {
  std::vector<std::string> ids;
  ids.reserve(runs.size());
  for (const RunId& run : runs) ids.push_back(run.text());
  connection_.query(
      kStartMany,
      {flow_slug, pg::Param::array(inputs), pg::Param::array(ids)},
      reading_nothing(std::move(answer))
  );
}

void RunStore::read(RunId run, Answer<std::optional<std::string>> answer) {
  connection_.query(
      kRead,
      {run},
      reading([](const pg::Rows& rows) { return rows[0][0].optional_text(); }, std::move(answer))
  );
}

void RunStore::find(RunId run, Answer<std::optional<RunRow>> answer) {
  connection_.query(kFind, {run}, reading(first_run, std::move(answer)));
}

void RunStore::steps(RunId run, Answer<std::vector<StepRow>> answer) {
  connection_.query(kSteps, {run}, reading_each(step_in, std::move(answer)));
}

void RunStore::tasks(RunId run, Answer<std::vector<TaskRow>> answer) {
  connection_.query(kTasks, {run}, reading_each(task_in, std::move(answer)));
}

void RunStore::list(const RunFilter& filter, Answer<std::vector<RunRow>> answer) {
  const auto since = filter.since ? std::optional(filter.since->count()) : std::nullopt;
  connection_.query(
      kList,
      {filter.flow_slug, filter.status, since, filter.id_prefix, filter.limit},
      reading_each(run_in, std::move(answer))
  );
}

}  // namespace pgflow::store
