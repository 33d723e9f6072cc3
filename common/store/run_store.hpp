// Runs: start them, and read how far they are.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/strong.hpp"
#include "store/answer.hpp"

namespace pgflow::store {

struct StartRequest {
  std::string flow_slug;
  std::string input;  // JSON text
  std::optional<RunId> run_id{
  };  // chosen by the caller, a lost answer can be asked for again: then 23505, runs_pkey
};

struct RunRow {
  RunId run_id;
  std::string flow_slug, status;
  int remaining_steps = 0;
  std::string started_at;                 // RFC 3339
  std::optional<std::string> ended_at{};  // RFC 3339
  std::optional<std::string> output{};    // JSON text
};

struct StepRow {
  std::string step_slug;
  int step_index = 0;
  std::string step_type, status;
  std::vector<std::string> depends_on;
  std::string queue_name;
  std::optional<int> initial_tasks{}, remaining_tasks{};
  std::optional<std::string> error_message{}, skip_reason{};
  std::optional<std::string> started_at{}, ended_at{};  // RFC 3339
};

struct TaskRow {
  std::string step_slug;
  int task_index = 0;
  std::string status;
  int attempts = 0, max_attempts = 0;
  std::string queue_name;
  std::optional<MessageId> msg_id{};
  std::optional<std::string> error_message{};
  std::string queued_at;                                // RFC 3339
  std::optional<std::string> started_at{}, ended_at{};  // RFC 3339
  std::optional<WorkerId> last_worker_id{};
  int requeued = 0, crashes = 0;
  bool permanently_stalled = false;
};

struct RunFilter {
  std::optional<std::string> flow_slug{};
  std::optional<std::string> status{};
  std::optional<std::chrono::seconds> since{};  // started within this time
  std::string id_prefix{};                      // lower-case hex and dashes
  int limit = 50;
};

class RunStore {
 public:
  explicit RunStore(pg::Connection& connection) : connection_(connection) {}

  void start(const StartRequest& request, Answer<RunRow> answer);
  // All or none, in one statement: runs[i] gets inputs[i]. A lost answer can be asked for again:
  // then 23505, runs_pkey.
  void start_many(
      const std::string& flow_slug,
      std::span<const std::string> inputs,
      std::span<const RunId> runs,
      Answer<void> answer
  );

  // {"run": {…}, "steps": […]} as JSON text; nothing for an unknown run.
  void read(RunId run, Answer<std::optional<std::string>> answer);

  void find(RunId run, Answer<std::optional<RunRow>> answer);
  void steps(RunId run, Answer<std::vector<StepRow>> answer);  // by step_index
  void tasks(RunId run, Answer<std::vector<TaskRow>> answer);  // by step_index, task_index
  void list(const RunFilter& filter, Answer<std::vector<RunRow>> answer);  // newest first

 private:
  pg::Connection& connection_;
};

}  // namespace pgflow::store
