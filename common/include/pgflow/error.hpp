// What pgflow throws. An Error has PostgreSQL's shape, so a text raised in SQL and one raised here
// read alike.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace pgflow {

struct Error {
  std::string kind;  // stable name, as in sql-core 3.12: "flow_queue_name", "empty_flow", ...
  std::string message;
  std::string detail{};
  std::string hint{};
  std::string sqlstate{};
  std::string text() const;  // message, detail, hint on one line
};

class Exception : public std::runtime_error {
 public:
  explicit Exception(Error e) : std::runtime_error(e.text()), error_(std::move(e)) {}
  const Error& error() const noexcept { return error_; }

 private:
  Error error_;
};

// --- the author's mistake in a definition --------------------------------------------------
struct FlowError : Exception {
  using Exception::Exception;
};
struct InvalidSlugError : FlowError {
  InvalidSlugError(std::string given, Error e) : FlowError(std::move(e)), slug(std::move(given)) {}
  std::string slug;
};
struct OptionError : FlowError {
  explicit OptionError(std::string m) : FlowError({"option", std::move(m)}) {}
};
struct PatternError : FlowError {
  explicit PatternError(std::string m) : FlowError({"pattern", std::move(m)}) {}
};

// --- step queues: thrown by with_step_queues() before any worker or database work ---------
struct StepQueueError : FlowError {
  StepQueueError(std::string flow, Error e) : FlowError(std::move(e)), flow_slug(std::move(flow)) {}
  std::string flow_slug;
};
struct QueueNameLengths {  // both candidates of the failing step
  std::string step_slug;
  std::size_t step_index = 0;
  std::string readable_name, fallback_name;
  std::size_t maximum = 47;
};
struct FlowQueueNameError : StepQueueError, QueueNameLengths {
  FlowQueueNameError(const std::string& flow, const std::string& step, std::size_t index);
  std::string shortest_fallback;
};
struct StepQueueNameError : StepQueueError, QueueNameLengths {
  StepQueueNameError(const std::string& flow, const std::string& step, std::size_t index);
};
struct DefaultQueueNameError : StepQueueError {
  explicit DefaultQueueNameError(const std::string& flow);
};
struct EmptyStepQueuedFlowError : StepQueueError {
  explicit EmptyStepQueuedFlowError(const std::string& flow);
};
struct DuplicateStepSlugError : StepQueueError {
  DuplicateStepSlugError(
      const std::string& flow,
      const std::string& other,
      std::size_t other_index,
      const std::string& step,
      std::size_t index
  );
  std::string step_slug, other_step_slug;
};
struct DuplicateQueueRouteError : StepQueueError {
  DuplicateQueueRouteError(
      const std::string& flow,
      const std::string& other,
      const std::string& step,
      const std::string& queue
  );
  std::string step_slug, other_step_slug, queue_name;
};

// --- worker start ------------------------------------------------------------------------
struct StepSelectionError : Exception {
  enum class Reason { missing, unknown, not_allowed };
  StepSelectionError(
      Reason reason,
      const std::string& flow,
      const std::string& given,
      const std::vector<std::string>& valid
  );
  Reason reason;
  std::string flow_slug, given;
  std::vector<std::string> valid;
};
struct AlreadyStartedError : Exception {
  AlreadyStartedError();
};
struct MissingResourceError : Exception {
  explicit MissingResourceError(std::string m) : Exception({"missing_resource", std::move(m)}) {}
};

// --- JSON --------------------------------------------------------------------------------
struct JsonError : Exception {
  JsonError(std::string pointer, std::string reason);
  std::string pointer;  // RFC 6901, "" is the whole document
  std::string reason;
};

// --- what a handler may throw: anything. Any other exception fails the attempt and is retried.
// -----
struct PermanentFailure : std::runtime_error {
  using std::runtime_error::runtime_error;
};  // no further attempts
struct Aborted : std::runtime_error {
  Aborted() : std::runtime_error("stopped") {}
};  // worker is stopping: leave the task alone

}  // namespace pgflow
