// What pgflow throws: typed exceptions in PostgreSQL's own shape, so a text raised in SQL and one
// raised here read alike.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <pgflow/ids.hpp>

namespace pgflow {

// One problem, told the way PostgreSQL tells it. Everything but kind and message may be empty.
struct Error {
  std::string kind;        // stable word, the same as in SQL: "flow_queue_name", "empty_flow", …
  std::string message;     // what is wrong, one sentence
  std::string detail{};    // the facts
  std::string hint{};      // what to do about it
  std::string sqlstate{};  // five characters when the database raised it

  // Message, detail and hint on one line.
  std::string text() const;
};

// Base of all that follows; what() is error().text().
class Exception : public std::runtime_error {
 public:
  // what() is error.text().
  explicit Exception(Error error) : std::runtime_error(error.text()), error_(std::move(error)) {}
  // The problem in parts.
  const Error& error() const noexcept { return error_; }

 private:
  Error error_;
};

// ---- The author's mistake in a definition: thrown where the flow is built, before any thread or
// connection exists. pgflow::main ends with exit code 65 on every FlowError.

struct FlowError : Exception {
  using Exception::Exception;
};

// A flow or step slug breaks the rules of check_slug. Kinds invalid_flow_slug, invalid_step_slug.
struct InvalidSlugError : FlowError {
  // The slug as it was given, and what is wrong with it.
  InvalidSlugError(std::string bad_slug, Error error);
  std::string slug;  // as it was given
};

// An option is out of range, e.g. max_attempts 0. Kind option.
struct OptionError : FlowError {
  // `message` is the whole problem.
  explicit OptionError(std::string message);
};

// A condition can never be stored or contradicts itself. Kind pattern.
struct PatternError : FlowError {
  // `message` is the whole problem.
  explicit PatternError(std::string message);
};

// ---- Queues of a flow: thrown by with_step_queues() and resolve_routes() in the order of
// sql-core 4.3.

struct StepQueueError : FlowError {
  // The flow and what is wrong with its queues.
  StepQueueError(std::string flow, Error error);
  std::string flow_slug;  // the flow's slug
};

// Both names that were tried for the step that fits neither; the lengths are their size().
struct QueueNameCandidates {
  std::string step_slug;                          // the step
  std::size_t step_index = 0;                     // its position in the flow, from 0
  std::string readable_name;                      // flow__step, lower case
  std::string fallback_name;                      // flow__index, lower case
  std::size_t maximum = kMaxPgmqQueueNameLength;  // what PGMQ allows
};

// Even flow__0 is too long: no step of this flow can have a queue of its own. Kind
// flow_queue_name.
struct FlowQueueNameError : StepQueueError, QueueNameCandidates {
  // For the first step that fits no name.
  FlowQueueNameError(const std::string& flow, const std::string& step, std::size_t index);
  std::string shortest_fallback;  // flow__0, which is too long already
};

// Neither the readable name nor flow__index of this step fits. Kind step_queue_name.
struct StepQueueNameError : StepQueueError, QueueNameCandidates {
  // For the first step that fits no name.
  StepQueueNameError(const std::string& flow, const std::string& step, std::size_t index);
};

// A plain flow's one queue would be longer than 47 characters. Kind default_queue_name.
struct DefaultQueueNameError : StepQueueError {
  // For the flow of that slug.
  explicit DefaultQueueNameError(const std::string& flow);
};

// with_step_queues() of a flow without steps. Kind empty_flow.
struct EmptyStepQueuedFlowError : StepQueueError {
  // For the flow of that slug.
  explicit EmptyStepQueuedFlowError(const std::string& flow);
};

// Two steps differ in case only, or not at all. Kind duplicate_step_slug.
struct DuplicateStepSlugError : StepQueueError {
  // Both steps, in the order of the flow.
  DuplicateStepSlugError(
      const std::string& flow,
      const std::string& other,
      std::size_t other_index,
      const std::string& step,
      std::size_t index
  );
  std::string step_slug;        // the later step
  std::string other_step_slug;  // the earlier step
};

// Two steps resolve to one queue. The slug rules make that impossible; this is the net below them.
// Kind duplicate_queue_route.
struct DuplicateQueueRouteError : StepQueueError {
  // Both steps, in the order of the flow, and their queue.
  DuplicateQueueRouteError(
      const std::string& flow,
      const std::string& other,
      const std::string& step,
      const std::string& queue
  );
  std::string step_slug;        // the later step
  std::string other_step_slug;  // the earlier step
  std::string queue_name;       // of both
};

// ---- Starting a worker: thrown by EdgeWorker::start() before any database work; pgflow::main ends
// with 64.

// Kinds step_missing, step_unknown, step_not_allowed.
struct StepSelectionError : Exception {
  // None was named, one that the flow has not, one although the flow has no step queues.
  enum class Reason { missing, unknown, not_allowed };
  // What was asked of which flow.
  StepSelectionError(
      Reason why,
      const std::string& flow,
      const std::string& step,
      const std::vector<std::string>& valid_steps
  );
  Reason reason;                   // as in error().kind
  std::string flow_slug;           // the flow's slug
  std::string given;               // "" when none was given
  std::vector<std::string> valid;  // the flow's steps, in order
};

// A process runs one worker, once. Kind already_started.
struct AlreadyStartedError : Exception {
  // The second start.
  AlreadyStartedError();
};

// A handler asks for a resource that nobody lent; only forms without a compile-time check can throw
// it. Kind missing_resource.
struct MissingResourceError : Exception {
  // For the type of that name.
  explicit MissingResourceError(std::string type_name);
};

// ---- JSON that does not fit its C++ type, or the other way round. Kind json.
// JSON that does not fit its C++ type, or a value without a JSON form.
struct JsonError : Exception {
  // The place and what is wrong there.
  JsonError(std::string at, std::string why);
  std::string pointer;  // RFC 6901; "" is the whole document
  std::string reason;   // without the place
};

// ---- What a handler may throw: anything, which fails the attempt and is retried by policy. Two
// have a meaning.

// The attempt failed and no further attempt can help.
struct PermanentFailure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The handler noticed a stop request: after a stop for shutdown the task is given back untouched.
struct Aborted : std::runtime_error {
  // What throw_if_stopped() throws.
  Aborted() : std::runtime_error("stopped") {}
};

}  // namespace pgflow
