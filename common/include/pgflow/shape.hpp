// A flow without its types: the one form that the manifest, the worker and the supervisor know.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <pgflow/error.hpp>

namespace pgflow {

namespace detail {
struct Call;
}

// One task, or one for each element of an array.
enum class StepKind { single, map };
// What happens to dependents when a step is not run: the run fails, they run without it, they are
// skipped too.
enum class SkipMode { fail, skip, skip_cascade };
// One default queue for the flow, or a private queue for every step. Deployment metadata, no part
// of the shape.
enum class QueueMode { flow, step };

// What runs a step's task: a function of this program, or a command, started for each task or once
// for many.
enum class HandlerKind { native, process_per_task, persistent };

// Defaults for all steps. Unset values take the database's (max_attempts 3, base_delay 5 s, timeout
// 60 s).
struct FlowOptions {
  std::optional<int> max_attempts{};  // at least 1
  std::optional<std::chrono::seconds> base_delay{
  };  // first retry's delay, doubled each time; at least 1 s
  std::optional<std::chrono::seconds> timeout{};  // at least 3 s
};

// As FlowOptions, for one step.
struct StepOptions {
  std::optional<int> max_attempts{};                 // at least 1
  std::optional<std::chrono::seconds> base_delay{};  // at least 1 s
  std::optional<std::chrono::seconds> timeout{};     // at least 3 s
  std::optional<std::chrono::seconds> start_delay{
  };  // wait before a ready step's tasks become visible
};

// One step without its types.
struct StepDefinition {
  std::string slug{};                // unique in its flow
  StepKind kind = StepKind::single;  // one task or one for each element
  // As written: the handler's positional parameters follow this order.
  std::vector<std::string> depends_on{};
  StepOptions options{};                     // the step's own
  SkipMode when_unmet = SkipMode::skip;      // when the condition does not hold
  SkipMode when_exhausted = SkipMode::fail;  // when all attempts have failed
  std::optional<std::string> run_if{};       // jsonb pattern, as JSON text
  std::optional<std::string> run_if_not{};   // jsonb pattern, as JSON text
  std::shared_ptr<const void> handler{};     // an F, which only `invoke` knows
  // Reads the call's input, runs the handler, returns its output as JSON text. Throws what the
  // handler throws, and JsonError. Called from several threads at once.
  std::string (*invoke)(const void* handler, const detail::Call&) = nullptr;
  std::vector<std::string_view> needs{};  // names of the resource types that the handler asks for
  bool needs_flow_input = false;          // the handler takes FlowInput<T>
  HandlerKind handler_kind = HandlerKind::native;  // who runs it
  // What the handler may need, beyond the worker's own patience, to end after its stop token fired.
  std::chrono::milliseconds stop_grace{0};
  std::function<std::string()> input_schema{};   // JSON Schema of a task's input
  std::function<std::string()> output_schema{};  // JSON Schema of a task's output
};

// A flow without its types; immutable once it is shared.
struct FlowDefinition {
  std::string slug{};     // its name in the database
  FlowOptions options{};  // defaults of the steps
  // Dependencies stand before their dependents.
  std::vector<std::shared_ptr<const StepDefinition>> steps{};
  std::function<std::string()> input_schema{};  // JSON Schema of a run's input
};

// The queue of a step.
struct StepRoute {
  std::string step_slug;       // the step
  std::size_t step_index = 0;  // position in the flow, from 0
  std::string queue_name;      // a PGMQ queue
  // Of all members.
  friend bool operator==(const StepRoute&, const StepRoute&) = default;
};

// The queue of every step, in step order. All checks of sql-core 4.3 that need no database, in its
// order: EmptyStepQueuedFlowError, InvalidSlugError, DuplicateStepSlugError, then the queue name
// errors.
std::vector<StepRoute> resolve_routes(const FlowDefinition&, QueueMode);

// The FlowShape JSON of ensure_flow_compiled (sql-core 3.5); the same bytes for the same flow.
std::string flow_shape(const FlowDefinition&);

// What `--pgflow-describe` prints: one line of JSON, keys in fixed order. Throws what
// resolve_routes throws.
std::string manifest(const FlowDefinition&, QueueMode);

namespace detail {
// Both throw InvalidSlugError or OptionError.
std::shared_ptr<const FlowDefinition> new_flow(
    std::string slug, FlowOptions, std::function<std::string()> input_schema
);
std::shared_ptr<StepDefinition> new_step(
    std::string_view slug,
    StepKind,
    StepOptions,
    std::vector<std::string> depends_on,
    SkipMode when_unmet,
    SkipMode when_exhausted
);
}  // namespace detail

}  // namespace pgflow
