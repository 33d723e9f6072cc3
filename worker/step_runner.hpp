// Runs one task's handler: everything a handler can do becomes one outcome.
#pragma once

#include <pgflow/context.hpp>
#include <pgflow/shape.hpp>

#include <atomic>
#include <chrono>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>

#include "base/exit_code.hpp"
#include "worker/handler_pool.hpp"

namespace pgflow::worker {

// How a running handler is asked to stop. Shared by the loop and the handler's thread.
class TaskStop {
 public:
  // The first reason counts. Runs the handler's stop callbacks, so never call it on the loop.
  void request(StopReason reason);
  StopReason reason() const { return reason_.load(); }
  const std::atomic<StopReason>& live_reason() const { return reason_; }
  std::stop_token token() const { return source_.get_token(); }

 private:
  std::atomic<StopReason> reason_{StopReason::none};
  std::stop_source source_;
};

struct StepOutcome {
  enum class Kind {
    completed,  // text: the output as JSON
    failed,     // text: why; retried by the step's policy
    permanent,  // text: why; no further attempts
    released,   // nothing is recorded, the attempt is given back
  };
  Kind kind = Kind::released;
  std::string text{};
  std::optional<ExitCode> end_worker{};
};

// What a handler of ours throws when no task of this step can succeed in this process: the attempt
// fails, and the worker ends with `code`.
struct EndWorker : std::runtime_error {
  EndWorker(ExitCode with, const std::string& why) : std::runtime_error(why), code(with) {}
  ExitCode code;
};

// One call of a step's handler. What it refers to must outlive the call.
struct StepCall {
  const StepDefinition& step;
  const TaskInfo& task;
  std::string_view input;
  std::string_view flow_input;  // empty unless the step needs it
  std::chrono::seconds timeout;
  std::chrono::steady_clock::time_point deadline;
  const TaskStop& stop;
  Logger& log;
};

// On a handler's thread. The only place that catches what a user's code throws.
StepOutcome run_step(const StepCall& call, LazyResources& resources) noexcept;

}  // namespace pgflow::worker
