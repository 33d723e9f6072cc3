// What the read verbs print with `-o json`: one type a verb. The database writes the document,
// these types read it back for people, and docs/schemas holds their JSON Schemas.
#pragma once

#include <cstdint>
#include <optional>
#include <pgflow/json.hpp>
#include <string>
#include <vector>

#include "supervisor/control/documents.hpp"

namespace pgflow::cli {

struct Percentiles {
  std::optional<double> p50;
  std::optional<double> p95;
};

// --- pgflow status

struct StepStatus {
  std::string step;
  std::string queue;
  bool queue_exists = false;
  std::int64_t live_workers = 0;
  std::int64_t ready = 0;      // messages that a worker could read now
  std::int64_t queued = 0;     // tasks that wait, delayed ones included
  std::int64_t in_flight = 0;  // tasks that a worker holds
  std::optional<double> oldest_seconds;
  // Over all runs that the database still knows.
  std::int64_t tasks = 0;
  std::int64_t attempts = 0;
  std::int64_t completed = 0;
  std::int64_t failed = 0;
  std::int64_t skipped = 0;
  Percentiles queue_delay_seconds;  // of first attempts
  Percentiles run_time_seconds;
};

struct RunCounts {
  std::int64_t started = 0;
  std::int64_t completed = 0;
  std::int64_t failed = 0;
};

struct FlowStatus {
  std::string flow;
  std::string queue_mode;
  RunCounts runs;
  std::vector<StepStatus> steps;
};

struct WorkerStatus {
  std::string worker_id;
  std::string function;
  std::string queue;
  std::optional<std::string> flow;
  std::optional<std::string> step;
  std::optional<std::int64_t> pid;
  std::optional<std::string> host;
  std::string state;  // live, stale, deprecated, stopped
  double uptime_seconds = 0;
  double heartbeat_age_seconds = 0;
};

struct StatusView {
  std::optional<supervisor::StatusDocument> supervisor;  // absent: none answers here
  std::vector<FlowStatus> flows;
  std::vector<WorkerStatus> workers;  // stopped ones for an hour
};

// --- pgflow healthcheck

struct HealthCheckView {
  std::string check;
  bool ok = false;
  std::optional<std::string> reason;
};

struct HealthView {
  bool healthy = false;
  std::string probe;  // livez, readyz
  std::vector<HealthCheckView> checks;
};

// --- pgflow coverage

struct StepCoverage {
  std::string step;
  std::string queue;
  bool covered = false;
  std::int64_t live_workers = 0;
  std::optional<double> freshest_seconds;  // age of the freshest heartbeat of a live worker
  // Workers that do not count, of the last hour.
  std::int64_t stopped = 0;
  std::int64_t stale = 0;
  std::optional<double> stale_seconds;
  std::int64_t deprecated = 0;
  std::int64_t queued = 0;
  std::optional<std::string> fenced;  // why, while a fence stands around it
};

struct FlowCoverage {
  std::string flow;
  bool covered = false;
  std::vector<StepCoverage> steps;
};

struct CoverageView {
  bool covered = false;
  double threshold_seconds = 0;
  std::vector<FlowCoverage> flows;
};

// --- pgflow run show

struct TaskView {
  std::int64_t task_index = 0;
  std::string status;
  std::int64_t attempts = 0;
  std::optional<std::string> message_id;
  std::optional<std::string> worker_id;
  std::optional<double> queued_seconds;
  std::optional<double> ran_seconds;
  std::optional<std::string> error;
};

struct RunStepView {
  std::string step;
  std::string status;
  std::vector<std::string> depends_on;
  std::string type;
  std::string queue;
  std::int64_t max_attempts = 0;
  std::int64_t attempts = 0;       // of all tasks together
  std::int64_t most_attempts = 0;  // of the task that needed most
  std::optional<double> queued_seconds;
  std::optional<double> ran_seconds;
  std::optional<std::string> skip_reason;
  std::optional<std::string> error;
  std::optional<Json> output;
  std::int64_t tasks_completed = 0;
  std::vector<TaskView> tasks;
};

struct RunView {
  std::string run_id;
  std::string flow;
  std::string status;
  std::string started_at;
  std::optional<std::string> ended_at;
  double took_seconds = 0;
  std::optional<Json> input;
  std::optional<Json> output;
  std::vector<RunStepView> steps;
};

// --- pgflow run list

struct RunSummary {
  std::string run_id;
  std::string flow;
  std::string status;
  std::string started_at;
  std::optional<std::string> ended_at;
  double took_seconds = 0;
  std::int64_t remaining_steps = 0;
  std::int64_t steps = 0;
};

struct RunListView {
  std::vector<RunSummary> runs;
};

// --- pgflow run start, pgflow run wait

struct RunState {
  std::string run_id;
  std::string status;
};

struct RunStatesView {
  std::vector<RunState> runs;
  RunCounts counts;
};

// --- pgflow run tail: one a line

struct RunFact {
  std::string run_id;
  std::string at;
  std::string kind;  // run, step, task
  std::optional<std::string> step;
  std::optional<std::int64_t> task_index;
  std::string status;  // of a task also: retrying
  std::optional<std::int64_t> attempt;
  std::optional<std::string> error;
  std::optional<std::string> skip_reason;
};

// --- pgflow task list, pgflow task requeue

struct TaskListed {
  std::string run_id;
  std::string step;
  std::int64_t task_index = 0;
  std::string status;
  std::int64_t attempts = 0;
  std::int64_t max_attempts = 0;
  std::string queue;
  std::optional<std::string> message_id;
  std::optional<std::string> worker_id;
  std::optional<double> queued_seconds;
  std::optional<double> ran_seconds;
  std::int64_t requeued = 0;
  std::int64_t crashes = 0;
  bool stalled = false;  // for good: `pgflow task requeue` gives it back
  std::optional<std::string> error;
};

struct TaskListView {
  std::vector<TaskListed> tasks;
};

struct TaskRequeued {
  std::string run_id;
  std::string step;
  std::int64_t task_index = 0;
  std::string outcome;  // applied, already, late
};

struct TaskRequeueView {
  std::vector<TaskRequeued> tasks;
};

// --- pgflow queue list, pgflow queue show, pgflow queue peek

struct QueueListed {
  std::string queue;
  std::string flow;
  std::vector<std::string> steps;
  bool exists = false;
  std::int64_t messages = 0;  // visible and leased
  std::int64_t visible = 0;   // that a worker could read now
  std::optional<double> oldest_seconds;
  std::int64_t ever_sent = 0;
  std::int64_t queued_tasks = 0;
  std::int64_t started_tasks = 0;
};

struct QueueListView {
  std::vector<QueueListed> queues;
};

struct MessageListed {
  std::string message_id;
  std::int64_t read_count = 0;
  std::string enqueued_at;
  std::string visible_at;
  bool visible = false;
  // Of the task that it carries; null when no task knows it.
  std::optional<std::string> run_id;
  std::optional<std::string> step;
  std::optional<std::int64_t> task_index;
  std::optional<std::string> task_status;
};

struct QueuePeekView {
  std::vector<MessageListed> messages;
};

// --- pgflow worker list, pgflow worker show

struct TaskInHandView {
  std::string run_id;
  std::string step;
  std::int64_t task_index = 0;
  std::int64_t attempt = 0;
  std::optional<std::string> message_id;
  std::optional<std::string> started_at;
};

struct WorkerListed {
  std::string worker_id;
  std::string function;
  std::string queue;
  std::optional<std::string> flow;
  std::optional<std::string> step;
  std::optional<std::int64_t> pid;
  std::optional<std::string> host;
  std::optional<std::string> revision;
  std::string state;  // live, stale, deprecated, stopped
  std::string started_at;
  std::optional<std::string> stopped_at;
  double heartbeat_age_seconds = 0;
  std::vector<TaskInHandView> tasks;
};

struct WorkerListView {
  std::vector<WorkerListed> workers;
};

// --- pgflow config show

struct ConfigValueView {
  std::string key;
  std::string value;
  std::string source;  // the file and line, "default", or what wins over the file
};

struct ConfigShowView {
  std::string file;
  std::vector<ConfigValueView> values;
};

// --- pgflow doctor

struct DoctorCheck {
  std::string id;  // PGF101, …: docs/doctor.md
  std::string name;
  std::string state;  // ok, warn, fail, skip
  std::string text;
  std::optional<std::string> detail;
  std::optional<std::string> hint;
};

struct DoctorView {
  bool healthy = false;  // nothing fails
  std::vector<DoctorCheck> checks;
};

// --- pgflow fence, pgflow unfence, pgflow fence list

struct FencedFunction {
  std::string function;
  bool was_enabled = false;  // before any fence stood around it
};

struct FenceView {
  std::string fence_id;
  std::string token;  // opens it; shown this once
  std::string owner;
  std::string reason;
  std::vector<FencedFunction> functions;
  std::int64_t workers_told = 0;  // to finish what they hold and leave
};

struct UnfencedFunction {
  std::string function;
  bool enabled = false;
  bool is_fenced = false;  // by another fence
};

struct UnfenceView {
  std::vector<std::string> fences;
  std::vector<UnfencedFunction> functions;
};

struct PendingSupervisor {
  std::string name;
  std::string host;
  std::int64_t pid = 0;
};

struct FencedFunctionNow {
  std::string function;
  bool was_enabled = false;
  std::optional<bool> enabled;
  std::int64_t live_workers = 0;      // not told to leave
  std::int64_t draining_workers = 0;  // told
  std::int64_t tasks_in_hand = 0;
};

struct FenceListed {
  std::string fence_id;
  std::string owner;
  std::string reason;
  std::string created_at;
  std::optional<std::string> lifted_at;
  std::optional<std::string> forced_reason;
  // No live worker, no task in hand, every live supervisor has acknowledged; null once lifted.
  std::optional<bool> quiet;
  std::vector<PendingSupervisor> pending_supervisors;
  std::vector<FencedFunctionNow> functions;
};

struct FenceListView {
  std::vector<FenceListed> fences;
};

// --- pgflow migrate

struct MigrationView {
  std::string name;
  bool applied = false;
  std::optional<std::string> applied_at;
};

struct MigrationsView {
  std::string state;  // none, current, behind, newer, foreign, changed
  std::string pgmq;   // none, offered, extension, fallback, unmarked, unusable
  std::int64_t version = 0;
  std::int64_t wanted = 0;
  std::optional<std::string> problem;
  std::vector<MigrationView> migrations;
};

struct MigrateUpView {
  std::int64_t from = 0;
  std::int64_t to = 0;
  std::vector<std::string> applied;
  bool adopted = false;
  std::string pgmq;
};

struct MigrateDownView {
  std::int64_t from = 0;
  std::int64_t to = 0;
  std::vector<std::string> undone;
};

struct MigrateProblemView {
  std::string kind;
  std::string message;
  std::optional<std::string> detail;
  std::optional<std::string> hint;
};

struct MigrateValidateView {
  bool valid = false;
  std::string state;  // as in migrate status
  std::string pgmq;
  std::int64_t version = 0;
  std::int64_t wanted = 0;
  std::int64_t functions = 0;  // that were compared
  std::vector<MigrateProblemView> problems;
};

// --- pgflow db url, pgflow version, pgflow config check

struct DatabaseUrlView {
  std::string url;  // empty: PostgreSQL's own variables say it
  std::string conninfo;
  std::string source;
};

struct VersionView {
  std::string version;
  std::string schema;  // the newest migration
  std::int64_t schema_version = 0;
};

struct ConfigProblemView {
  std::string file;
  std::int64_t line = 0;
  std::int64_t column = 0;
  std::string path;
  std::string reason;
  std::optional<std::string> hint;
  bool warning = false;
};

struct ConfigCheckView {
  bool valid = false;
  std::vector<ConfigProblemView> problems;
};

}  // namespace pgflow::cli
