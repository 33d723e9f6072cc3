// One binary for every role of a flow: description, worker, one handler by hand.
//
// clang-format off
//   my_flow --pgflow-describe [FLOW]                    the flow's manifest: JSON, one line a flow
//   my_flow --pgflow-worker [--flow FLOW] [--step STEP] [--max-concurrent N]
//   my_flow --pgflow-invoke STEP [--flow FLOW] < input.json
//   my_flow --help
// clang-format on
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <pgflow/edge_worker.hpp>

namespace pgflow {

// Several flows in one binary, e.g. two versions: flows(v1, v2). A process still runs one of them.
template <class... F>
struct Flows {
  std::tuple<F...> all;  // in the order of --pgflow-describe
};
// Makes one, for main().
template <class... F>
Flows<F...> flows(F... f) {
  return {std::tuple<F...>(std::move(f)...)};
}

namespace detail {

struct ProgramFlow {
  std::shared_ptr<const FlowDefinition> definition;
  std::optional<std::vector<StepRoute>> routes;  // of a step-queued flow
};

// `make` is called once; what it throws is reported. Returns the process's exit code.
int run_program(
    int argc,
    const char* const* argv,
    const std::function<std::vector<ProgramFlow>()>& make,
    Resources resources
);

template <class I, class S, class... St>
void append_flows(const Flow<I, S, St...>& flow, std::vector<ProgramFlow>& list) {
  list.push_back({flow.definition(), std::nullopt});
}
template <class F>
void append_flows(const StepQueuedFlow<F>& queued, std::vector<ProgramFlow>& list) {
  list.push_back({queued.wrapped().definition(), queued.routes()});
}
template <class... F>
void append_flows(const Flows<F...>& flows, std::vector<ProgramFlow>& list) {
  std::apply([&](const auto&... one) { (append_flows(one, list), ...); }, flows.all);
}

template <class Have, class F>
consteval bool all_provided(const F*) {
  return provided<Have>(static_cast<const typename wrapped_flow<F>::type*>(nullptr));
}
template <class Have, class... F>
consteval bool all_provided(const Flows<F...>*) {
  return (all_provided<Have>(static_cast<const F*>(nullptr)) && ...);
}

}  // namespace detail

// The whole `main` of a worker program. `what` is a flow, a step-queued flow, flows(…), or a
// function that returns one of them: with a function, definition errors that only run time can find
// are reported (exit code 65) instead of ending the process before main.
//
// Exit codes: 0 done or drained, 64 wrong arguments, 65 unusable definition, 70 anything else that
// was thrown, otherwise the worker's own. Errors go to stderr as `error:`, `detail:` and `hint:`
// lines.
template <class W, class... P>
int main(int argc, const char* const* argv, W what, const Provided<P>&... resources) {
  const auto get = [&what]() -> decltype(auto) {
    if constexpr (std::is_invocable_v<W>) {
      return what();
    } else {
      return (what);
    }
  };
  using T = std::remove_cvref_t<decltype(get())>;
  using Have = detail::join_t<ProcessPlatform::provides, types<P...>>;
  [[maybe_unused]] constexpr bool ok = detail::all_provided<Have>(static_cast<const T*>(nullptr));
  const auto make = [&get] {
    std::vector<detail::ProgramFlow> list;
    detail::append_flows(get(), list);
    return list;
  };
  return detail::run_program(argc, argv, make, detail::lend(resources...));
}

}  // namespace pgflow
