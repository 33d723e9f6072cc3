// A private queue for every step of a flow, so that a busy step never starves another.
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include <pgflow/flow.hpp>

namespace pgflow {

// A flow with its checked queue routes: made by with_step_queues() only, never changed. Deployment
// metadata: the flow inside it is the same flow for clients and run starts.
template <class F>
class StepQueuedFlow {
 public:
  // The flow inside it.
  const F& wrapped() const { return flow_; }
  // In step order.
  const std::vector<StepRoute>& routes() const { return *routes_; }

 private:
  template <class I, class S, class... St>
  friend StepQueuedFlow<Flow<I, S, St...>> with_step_queues(Flow<I, S, St...>);

  StepQueuedFlow(F flow, std::vector<StepRoute> routes)
      : flow_(std::move(flow)),
        routes_(std::make_shared<const std::vector<StepRoute>>(std::move(routes))) {}

  F flow_;
  std::shared_ptr<const std::vector<StepRoute>> routes_;
};

namespace detail {

template <fixed_string F, class Step, std::size_t I>
consteval bool static_route_ok() {
  constexpr std::size_t flow_length = F.view().size();
  constexpr std::size_t readable = flow_length + 2 + Step::slug.view().size();
  constexpr RouteProblem problem = check_route(flow_length, Step::slug.view().size(), I);
  if constexpr (problem == RouteProblem::none) {
    return true;
  } else if constexpr (problem == RouteProblem::flow_too_long) {
    return diag::flow_slug_too_long<
        slug_t<F>,
        diag::in_step<Step::slug>,
        diag::readable_length<readable>,
        diag::fallback_length<flow_length + 3>>::ok;
  } else {
    return diag::step_queue_too_long<
        slug_t<F>,
        diag::in_step<Step::slug>,
        diag::index<I>,
        diag::readable_length<readable>,
        diag::fallback_length<flow_length + 2 + decimal_digits(I)>>::ok;
  }
}

// With a slug known at compile time the length rule is a compile error; otherwise it is left to the
// resolver.
template <class Slug, class... Steps>
struct routes_ok {
  static constexpr bool value = true;
};
template <fixed_string F, class... Steps>
struct routes_ok<static_slug<F>, Steps...> {
  template <std::size_t... I>
  static consteval bool check(std::index_sequence<I...>) {
    return (static_route_ok<F, Steps, I>() && ...);
  }
  static constexpr bool value = check(std::index_sequence_for<Steps...>{});
};

}  // namespace detail

// Checks every queue name and throws the StepQueueErrors in the order of sql-core 4.3, before any
// worker or database work.
template <class Input, class Slug, class... Steps>
StepQueuedFlow<Flow<Input, Slug, Steps...>> with_step_queues(Flow<Input, Slug, Steps...> flow) {
  if constexpr (sizeof...(Steps) == 0 && !std::is_same_v<Slug, dynamic_slug>) {
    (void)diag::no_steps<Slug>{};
  }
  [[maybe_unused]] constexpr bool ok = detail::routes_ok<Slug, Steps...>::value;
  auto routes = resolve_routes(*flow.definition(), QueueMode::step);
  return {std::move(flow), std::move(routes)};
}

}  // namespace pgflow
