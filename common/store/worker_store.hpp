// A worker's row: registered before the first claim, kept alive by heartbeats, stopped at the end
// or by its supervisor.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/strong.hpp"
#include "store/answer.hpp"

namespace pgflow::store {

struct Registration {
  WorkerId worker_id;
  std::string queue_name;
  std::string function_name;
  std::string start_mode = "process";
  std::optional<int> pid{};
  std::optional<std::string> host_id{};
  std::optional<std::string> revision{};
};

// A task whose handler runs: the message says which, the attempt which try.
struct TaskInHand {
  MessageId msg_id;
  int attempt = 1;
  friend bool operator==(const TaskInHand&, const TaskInHand&) = default;
};

struct Heartbeat {
  bool known = false;       // false: never registered, or stopped by somebody: claim nothing more
  bool deprecated = false;  // finish what is in hand, then end
  bool enabled = true;      // of the worker's function
  // Of those that it asked about: nobody waits for their results any more.
  std::vector<TaskInHand> lost{};
};

struct Release {
  WorkerId worker_id;
  std::string reason;               // becomes the error text of guilty tasks
  std::vector<MessageId> guilty{};  // their attempt stays counted; all others are refunded
};

enum class WorkerState { live, silent, deprecated, stopped };
std::string_view name(WorkerState state);

struct WorkerRow {
  WorkerId worker_id;
  std::string queue_name, function_name;
  WorkerState state = WorkerState::live;  // silent: no heartbeat for 6 s
  int tasks_in_hand = 0;
  double heartbeat_age_seconds = 0;
  std::string started_at, last_heartbeat_at;  // RFC 3339
  std::optional<int> pid{};
  std::optional<std::string> host_id{}, revision{};
};

class WorkerStore {
 public:
  explicit WorkerStore(pg::Connection& connection) : connection_(connection) {}

  void register_worker(const Registration& registration, Answer<void> answer);  // again: no-op
  void heartbeat(WorkerId worker, std::vector<TaskInHand> in_hand, Answer<Heartbeat> answer);
  void mark_stopped(WorkerId worker, Answer<void> answer);

  // The process is dead: ends its backends and settles what it held. Answers how many tasks; again:
  // 0.
  void release(const Release& release, Answer<int> answer);

  // Newest first. Stopped ones on request only: there may be many.
  void list(bool with_stopped, Answer<std::vector<WorkerRow>> answer);

 private:
  pg::Connection& connection_;
};

}  // namespace pgflow::store
