// Starting a worker: one flow, one queue, one start a process.
#pragma once

#include <chrono>
#include <concepts>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <pgflow/context.hpp>
#include <pgflow/detail/worker_plan.hpp>
#include <pgflow/flow.hpp>
#include <pgflow/step_queues.hpp>

namespace pgflow {

// Names one step of a step-queued flow: step<"classify">.
template <fixed_string S>
struct step_t {};
// The value of that type.
template <fixed_string S>
inline constexpr step_t<S> step{};

namespace detail {

// ---- Is every resource that a step asks for provided? Have is a types<…>.
// A `const T&` parameter takes an object of either kind, `T&` no const one.
template <class T, class... Have>
inline constexpr bool is_among =
    ((std::is_same_v<T, Have> || std::is_same_v<T, const Have>) || ...);

template <class Step, class T, class... Have>
consteval bool one_provided() {
  if constexpr (is_among<T, Have...>) {
    return true;
  } else {
    return diag::
        resource_not_provided<diag::in_step<Step::slug>, diag::type<std::remove_const_t<T>>>::ok;
  }
}
template <class Step, class... N, class... Have>
consteval bool step_provided(types<N...>, types<Have...>) {
  return (one_provided<Step, N, Have...>() && ...);
}
template <class Have, class Input, class Slug, class... Steps>
consteval bool provided(const Flow<Input, Slug, Steps...>*) {
  return (step_provided<Steps>(typename Steps::needs{}, Have{}) && ...);
}

template <class... N, class... Have>
consteval bool covers(types<N...>, types<Have...>) {
  return (is_among<N, Have...> && ...);
}
template <class F, class Have>
struct compatible;
template <class Input, class Slug, class... Steps, class Have>
struct compatible<Flow<Input, Slug, Steps...>, Have> {
  static constexpr bool value = (covers(typename Steps::needs{}, Have{}) && ...);
};

template <class F>
struct wrapped_flow {
  using type = F;
};
template <class F>
struct wrapped_flow<StepQueuedFlow<F>> {
  using type = F;
};

template <fixed_string S, class Input, class Slug, class... Steps>
consteval bool has_step(const Flow<Input, Slug, Steps...>*) {
  if constexpr (index_of<S, Steps...>() < sizeof...(Steps)) {
    return true;
  } else {
    return diag::no_such_step<
        diag::unknown<S>,
        diag::suggestion<S, Steps::slug...>,
        diag::known_steps<Steps::slug...>>::ok;
  }
}

}  // namespace detail

// A worker process.
struct ProcessPlatform {
  using provides = types<Sql>;  // what its handlers get without anybody lending it
};
// A test without a database: testing::run and testing::call.
struct InProcessPlatform {
  using provides = types<>;  // nothing: a test lends all
};

// Everything that F's handlers ask for is provided by the platform or by the caller (types User…).
template <class F, class Platform, class... User>
concept CompatibleFlow = detail::compatible<
    typename detail::wrapped_flow<std::remove_cv_t<F>>::type,
    detail::join_t<typename Platform::provides, types<User...>>>::value;

// Each start checks its arguments, runs until the worker is told to stop, and returns the process's
// exit code (0: drained). A start that is refused by its arguments does not use up the process's
// one start.
class EdgeWorker {
 public:
  // A plain flow: its default queue.
  template <class I, class S, class... St, class... P>
  static int start(
      const Flow<I, S, St...>& flow, WorkerConfig config = {}, const Provided<P>&... resources
  ) {
    check<detail::provided<have<P...>>(static_cast<const Flow<I, S, St...>*>(nullptr))>();
    return launch(
        flow.definition(), nullptr, std::nullopt, std::move(config), detail::lend(resources...)
    );
  }

  // One step of a step-queued flow: an unknown step is a compile error.
  template <class F, fixed_string S, class... P>
  static int start(
      const StepQueuedFlow<F>& queued,
      step_t<S>,
      WorkerConfig config = {},
      const Provided<P>&... resources
  ) {
    check<detail::has_step<S>(static_cast<const F*>(nullptr))>();
    return start(queued, S.view(), std::move(config), resources...);
  }

  // The same with a step named at run time: StepSelectionError when the flow has no such step.
  template <class F, class... P>
  static int start(
      const StepQueuedFlow<F>& queued,
      std::string_view step_slug,
      WorkerConfig config = {},
      const Provided<P>&... resources
  ) {
    check<detail::provided<have<P...>>(static_cast<const F*>(nullptr))>();
    return launch(
        queued.wrapped().definition(),
        &queued.routes(),
        std::string(step_slug),
        std::move(config),
        detail::lend(resources...)
    );
  }

  // Combinations without a meaning do not compile.
  template <class I, class S, class... St, fixed_string X, class... P>
  static int start(const Flow<I, S, St...>&, step_t<X>, WorkerConfig = {}, const Provided<P>&...) {
    (void)diag::plain_flow_takes_no_step<diag::got<step_t<X>>>{};
    return 1;
  }
  // As above.
  template <class I, class S, class... St, std::convertible_to<std::string_view> T, class... P>
  static int start(const Flow<I, S, St...>&, const T&, WorkerConfig = {}, const Provided<P>&...) {
    (void)diag::plain_flow_takes_no_step<diag::got<T>>{};
    return 1;
  }
  // As above.
  template <class F, class... P>
  static int start(const StepQueuedFlow<F>&, WorkerConfig = {}, const Provided<P>&...) {
    (void)diag::step_is_required<F>{};
    return 1;
  }

 private:
  template <class... P>
  using have = detail::join_t<ProcessPlatform::provides, types<P...>>;
  // Its argument has already printed the diagnosis.
  template <bool>
  static constexpr void check() {}

  static int launch(
      std::shared_ptr<const FlowDefinition> definition,
      const std::vector<StepRoute>* routes,
      std::optional<std::string> step_slug,
      WorkerConfig config,
      detail::Resources resources
  ) {
    detail::WorkerPlan plan = detail::plan_worker(
        std::move(definition), routes, std::move(step_slug), std::move(config), std::move(resources)
    );
    detail::claim_process();
    return detail::run_worker(std::move(plan));
  }
};

}  // namespace pgflow
