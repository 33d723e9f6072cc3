// resolve_routes: every step's queue, or the first problem in the order that SQL has too.
#include "flow/queue_naming.hpp"

#include <pgflow/shape.hpp>

#include "flow/slug.hpp"

namespace pgflow {
namespace {

std::string lowercase(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    c = ascii_lower(c);
  }
  return lower;
}

void require_valid_slugs(const FlowDefinition& flow) {
  require_flow_slug(flow.slug);
  for (std::size_t i = 0; i < flow.steps.size(); ++i) {
    require_step_slug(flow.slug, flow.steps[i]->slug, i);
  }
}

void require_distinct_slugs(const FlowDefinition& flow) {
  for (std::size_t i = 0; i < flow.steps.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const std::string& step = flow.steps[i]->slug;
      const std::string& other = flow.steps[j]->slug;
      if (same_ignoring_case(step, other)) {
        throw DuplicateStepSlugError(flow.slug, other, j, step, i);
      }
    }
  }
}

std::string private_queue(const FlowDefinition& flow, std::size_t i) {
  const std::string& step = flow.steps[i]->slug;
  switch (check_route(flow.slug.size(), step.size(), i)) {
    case RouteProblem::flow_too_long:
      throw FlowQueueNameError(flow.slug, step, i);
    case RouteProblem::step_too_long:
      throw StepQueueNameError(flow.slug, step, i);
    case RouteProblem::none:
      break;
  }
  std::string readable = readable_queue_name(flow.slug, step);
  return readable.size() <= kMaxPgmqQueueNameLength ? readable : fallback_queue_name(flow.slug, i);
}

void require_distinct_queues(const FlowDefinition& flow, const std::vector<StepRoute>& routes) {
  for (std::size_t i = 0; i < routes.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (routes[i].queue_name == routes[j].queue_name) {
        throw DuplicateQueueRouteError(
            flow.slug, routes[j].step_slug, routes[i].step_slug, routes[i].queue_name
        );
      }
    }
  }
}

}  // namespace

std::vector<StepRoute> resolve_routes(const FlowDefinition& flow, QueueMode mode) {
  const bool private_queues = mode == QueueMode::step;
  if (private_queues && flow.steps.empty()) {
    throw EmptyStepQueuedFlowError(flow.slug);
  }
  require_valid_slugs(flow);
  require_distinct_slugs(flow);
  if (!private_queues && flow.slug.size() > kMaxPgmqQueueNameLength) {
    throw DefaultQueueNameError(flow.slug);
  }
  std::vector<StepRoute> routes;
  for (std::size_t i = 0; i < flow.steps.size(); ++i) {
    routes.push_back(
        {flow.steps[i]->slug,
         i,
         private_queues ? private_queue(flow, i) : default_queue_name(flow.slug)}
    );
  }
  if (private_queues) {
    require_distinct_queues(flow, routes);
  }
  return routes;
}

std::string default_queue_name(std::string_view flow) {
  return lowercase(flow);
}

std::string readable_queue_name(std::string_view flow, std::string_view step) {
  return lowercase(flow) + "__" + lowercase(step);
}

std::string fallback_queue_name(std::string_view flow, std::size_t step_index) {
  return lowercase(flow) + "__" + std::to_string(step_index);
}

}  // namespace pgflow
