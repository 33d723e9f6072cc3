// A task's life as a worker sees it: claim, settle, give back.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/strong.hpp"
#include "store/answer.hpp"

namespace pgflow::store {

struct ClaimRequest {
  std::string queue_name;
  std::string flow_slug;
  std::optional<std::string> step_slug{};  // set exactly for flows with step queues
  WorkerId worker_id;
  int quantity = 1;  // never more than free slots
  bool with_flow_input = false;
  bool with_next_visible = false;  // ask beside it when nothing is there now
};

struct ClaimedTask {
  MessageId msg_id;
  RunId run_id;
  std::string step_slug;
  int task_index = 0;
  int attempt = 1;
  int max_attempts = 1;
  std::chrono::seconds timeout{};
  std::string input;                        // JSON text, as the database wrote it
  std::optional<std::string> flow_input{};  // JSON text
};

// Why a message that was read is not ours: somebody has it, it is over, no task knows it, it is of
// another step or flow. The last two are worth a warning.
enum class Unclaimed { started, final, unknown, foreign };
std::string_view name(Unclaimed why);

struct UnclaimedMessage {
  MessageId msg_id;
  Unclaimed why = Unclaimed::unknown;
};

struct ClaimAnswer {
  std::vector<ClaimedTask> tasks;  // by msg_id
  std::vector<UnclaimedMessage> others;
  // Asked for, and no message was read: when the queue's next message becomes visible. Not
  // positive: there is one, which somebody else is reading. Empty: the queue is.
  std::optional<std::chrono::milliseconds> next_visible_in{};
};

struct TaskKey {
  RunId run_id;
  std::string step_slug;
  int task_index = 0;
  friend auto operator<=>(const TaskKey&, const TaskKey&) = default;
};

// `attempt` and the worker's id are the fence: a zombie cannot settle somebody else's attempt.
struct Completion {
  TaskKey task;
  std::optional<int> attempt{};
  std::string output;  // JSON text, exactly one value; the whole batch fails otherwise
};

struct Failure {
  TaskKey task;
  std::optional<int> attempt{};
  std::string error;
  bool permanent = false;  // no further attempt
};

enum class SettleOutcome {
  applied,
  already,     // this very attempt was settled before: the answer had been lost
  superseded,  // not in this attempt's hand: another holds it, or nobody does; nothing changed
  late,        // its step or run is over
  unknown,
  malformed  // the item itself; a bug of ours
};
std::string_view name(SettleOutcome outcome);

struct Settled {
  TaskKey task;
  SettleOutcome outcome = SettleOutcome::unknown;
};

class TaskStore {
 public:
  explicit TaskStore(pg::Connection& connection) : connection_(connection) {}

  void read_and_claim(const ClaimRequest& request, Answer<ClaimAnswer> answer);

  // Each is one transaction and answers in the order of its items. Both may be asked again when the
  // answer was lost.
  void complete(
      std::span<const Completion> items, WorkerId worker, Answer<std::vector<Settled>> answer
  );
  void fail(std::span<const Failure> items, WorkerId worker, Answer<std::vector<Settled>> answer);

  // The worker's started tasks, all or these, as if it had never claimed them. Answers how many.
  void release(WorkerId worker, Answer<int> answer);
  void release(WorkerId worker, std::span<const MessageId> only, Answer<int> answer);

  // After a claim whose answer was lost: ends the backend that may still run it, then gives back
  // what it claimed, which is everything but `in_hand`. Answers how many.
  void release_lost(
      WorkerId worker, int backend_pid, std::span<const MessageId> in_hand, Answer<int> answer
  );

 private:
  pg::Connection& connection_;
};

}  // namespace pgflow::store
