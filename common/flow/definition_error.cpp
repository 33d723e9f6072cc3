// The texts of the typed errors; the ones that SQL raises too are the same there (sql-core 3.12).
#include <pgflow/error.hpp>

#include "base/did_you_mean.hpp"
#include "flow/queue_naming.hpp"
#include "flow/words.hpp"

namespace pgflow {
namespace {

std::string at_most(const std::string& what, std::size_t length) {
  return what + " is " + std::to_string(length) + " characters; PGMQ allows at most " +
         std::to_string(kMaxPgmqQueueNameLength) + ".";
}

QueueNameCandidates candidates(
    const std::string& flow, const std::string& step, std::size_t index
) {
  return {step, index, readable_queue_name(flow, step), fallback_queue_name(flow, index)};
}

Error flow_queue_name(const std::string& flow) {
  const std::string shortest = fallback_queue_name(flow, 0);
  return {
      "flow_queue_name",
      "Flow " + words::quote(flow) + " cannot use per-step queues.",
      at_most("The shortest required queue " + words::quote(shortest), shortest.size()),
      "Shorten the concrete flow slug or use the default single queue."
  };
}

Error step_queue_name(const std::string& flow, const std::string& step, std::size_t index) {
  const auto length = [](const std::string& name) { return std::to_string(name.size()); };
  return {
      "step_queue_name",
      "Cannot derive a queue for step " + words::quote(step) + " at index " +
          std::to_string(index) + " in flow " + words::quote(flow) + ".",
      "The readable name is " + length(readable_queue_name(flow, step)) +
          " characters and the index fallback is " + length(fallback_queue_name(flow, index)) +
          "; PGMQ allows at most " + std::to_string(kMaxPgmqQueueNameLength) + ".",
      "Shorten the concrete flow slug, shorten the step slug enough for the readable name, or use "
      "the default single queue."
  };
}

Error step_selection(
    StepSelectionError::Reason reason,
    const std::string& flow,
    const std::string& step,
    const std::vector<std::string>& valid
) {
  using Reason = StepSelectionError::Reason;
  const std::string steps = "Steps: " + words::comma_list(valid) + ".";
  switch (reason) {
    case Reason::missing:
      return {
          "step_missing",
          "Flow " + words::quote(flow) + " uses per-step queues: a worker serves one step.",
          steps,
          "Name one of its steps."
      };
    case Reason::unknown: {
      const std::string meant = did_you_mean_hint(step, valid);
      return {
          "step_unknown",
          "Flow " + words::quote(flow) + " has no step " + words::quote(step) + ".",
          steps,
          meant.empty() ? "Use one of its steps, spelled exactly." : meant
      };
    }
    case Reason::not_allowed:
      return {
          "step_not_allowed",
          "Flow " + words::quote(flow) + " uses its default queue: step " + words::quote(step) +
              " cannot be selected.",
          "",
          "Leave the step out, or wrap the flow in with_step_queues()."
      };
  }
  return {};
}

}  // namespace

InvalidSlugError::InvalidSlugError(std::string bad_slug, Error error)
    : FlowError(std::move(error)), slug(std::move(bad_slug)) {}

OptionError::OptionError(std::string message) : FlowError({"option", std::move(message)}) {}

PatternError::PatternError(std::string message) : FlowError({"pattern", std::move(message)}) {}

StepQueueError::StepQueueError(std::string flow, Error error)
    : FlowError(std::move(error)), flow_slug(std::move(flow)) {}

FlowQueueNameError::FlowQueueNameError(
    const std::string& flow, const std::string& step, std::size_t index
)
    : StepQueueError(flow, flow_queue_name(flow)),
      QueueNameCandidates(candidates(flow, step, index)),
      shortest_fallback(fallback_queue_name(flow, 0)) {}

StepQueueNameError::StepQueueNameError(
    const std::string& flow, const std::string& step, std::size_t index
)
    : StepQueueError(flow, step_queue_name(flow, step, index)),
      QueueNameCandidates(candidates(flow, step, index)) {}

DefaultQueueNameError::DefaultQueueNameError(const std::string& flow)
    : StepQueueError(
          flow,
          {"default_queue_name",
           at_most("Default queue of flow " + words::quote(flow), flow.size()),
           "",
           "Shorten the slug."}
      ) {}

EmptyStepQueuedFlowError::EmptyStepQueuedFlowError(const std::string& flow)
    : StepQueueError(
          flow,
          {"empty_flow",
           "Flow " + words::quote(flow) + " has no steps, so it cannot use per-step queues.",
           "Step mode creates one queue per step.",
           "Add a step or use the default single queue."}
      ) {}

DuplicateStepSlugError::DuplicateStepSlugError(
    const std::string& flow,
    const std::string& other,
    std::size_t other_index,
    const std::string& step,
    std::size_t index
)
    : StepQueueError(
          flow,
          {"duplicate_step_slug",
           "Steps " + words::quote(other) + " and " + words::quote(step) + " of flow " +
               words::quote(flow) + " are the same name when case is ignored.",
           "Indices " + std::to_string(other_index) + " and " + std::to_string(index) + ".",
           "Rename one."}
      ),
      step_slug(step),
      other_step_slug(other) {}

DuplicateQueueRouteError::DuplicateQueueRouteError(
    const std::string& flow,
    const std::string& other,
    const std::string& step,
    const std::string& queue
)
    : StepQueueError(
          flow,
          {"duplicate_queue_route",
           "Steps " + words::quote(other) + " and " + words::quote(step) + " of flow " +
               words::quote(flow) + " resolve to one queue " + words::quote(queue) + ".",
           "",
           "Rename one."}
      ),
      step_slug(step),
      other_step_slug(other),
      queue_name(queue) {}

StepSelectionError::StepSelectionError(
    Reason why,
    const std::string& flow,
    const std::string& step,
    const std::vector<std::string>& valid_steps
)
    : Exception(step_selection(why, flow, step, valid_steps)),
      reason(why),
      flow_slug(flow),
      given(step),
      valid(valid_steps) {}

AlreadyStartedError::AlreadyStartedError()
    : Exception(
          {"already_started",
           "EdgeWorker::start() can be called once per process.",
           "",
           "Start another process for another step."}
      ) {}

MissingResourceError::MissingResourceError(std::string type_name)
    : Exception(
          {"missing_resource",
           "A handler asks for a " + type_name + ", which nobody provided.",
           "",
           "Pass resource(object) or each_thread<" + type_name + ">(make)."}
      ) {}

}  // namespace pgflow
