// plan_worker: which queue, and whether this may start at all; nothing is touched before it says
// yes.
#include <algorithm>

#include <pgflow/detail/worker_plan.hpp>

#include "flow/queue_naming.hpp"

namespace pgflow::detail {
namespace {

using Reason = StepSelectionError::Reason;

std::vector<std::string> step_slugs(const FlowDefinition& flow) {
  std::vector<std::string> slugs;
  for (const auto& step : flow.steps) {
    slugs.push_back(step->slug);
  }
  return slugs;
}

const std::string& selected_queue(
    const FlowDefinition& flow, const std::vector<StepRoute>& routes, const std::string& step
) {
  const auto route = std::find_if(routes.begin(), routes.end(), [&](const StepRoute& r) {
    return r.step_slug == step;
  });
  if (route == routes.end()) {
    throw StepSelectionError(Reason::unknown, flow.slug, step, step_slugs(flow));
  }
  return route->queue_name;
}

void check_config(const WorkerConfig& config) {
  const auto require = [](bool ok, const char* rule) {
    if (!ok) {
      throw OptionError(std::string("Worker configuration: ") + rule + ".");
    }
  };
  require(config.max_concurrent >= 1, "max_concurrent must be at least 1");
  require(config.batch_size >= 1, "batch_size must be at least 1");
  require(config.max_poll >= std::chrono::seconds(1), "max_poll must be at least 1 s");
  require(
      config.poll_interval >= std::chrono::milliseconds(1), "poll_interval must be at least 1 ms"
  );
}

}  // namespace

WorkerPlan plan_worker(
    std::shared_ptr<const FlowDefinition> definition,
    const std::vector<StepRoute>* routes,
    std::optional<std::string> step_slug,
    WorkerConfig config,
    Resources resources
) {
  const FlowDefinition& flow = *definition;
  if (!routes && step_slug) {
    throw StepSelectionError(Reason::not_allowed, flow.slug, *step_slug, step_slugs(flow));
  }
  if (routes && (!step_slug || step_slug->empty())) {
    throw StepSelectionError(Reason::missing, flow.slug, "", step_slugs(flow));
  }
  check_config(config);
  WorkerPlan plan;
  plan.mode = routes ? QueueMode::step : QueueMode::flow;
  plan.routes = routes ? *routes : resolve_routes(flow, QueueMode::flow);
  plan.queue_name =
      routes ? selected_queue(flow, *routes, *step_slug) : default_queue_name(flow.slug);
  plan.step_slug = std::move(step_slug);
  plan.config = std::move(config);
  plan.resources = std::move(resources);
  plan.definition = std::move(definition);
  return plan;
}

}  // namespace pgflow::detail
