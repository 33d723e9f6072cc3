// Running a flow's handlers inside a test: no database, no queue, no waiting.
//
//   auto run = testing::run(community_threads, Message{"t1", "why?"}, resource(fake_slack));
//   run.completed();  run.status<"deliverSlack">();  run.output<"deliverSlack">().slack_ts;
#pragma once

#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <pgflow/edge_worker.hpp>

namespace pgflow::testing {

// not_run: the run ended before the step's turn came.
enum class Status { completed, skipped, failed, not_run };

namespace detail {

struct StepResult {
  std::string slug{};
  Status status = Status::not_run;
  std::string output{};  // JSON
  std::string error{};
  int attempts = 0;  // of a map step: of the task that needed most
};

struct RunResult {
  bool completed = false;
  std::string error{};
  std::vector<StepResult> steps{};
  const StepResult& step(std::string_view slug) const;
};

// Steps in definition order; conditions, skips, retries and exhaustion as the database does them.
RunResult run(const FlowDefinition&, const std::string& input, const pgflow::detail::Resources&);

// The output of a step that has one; std::logic_error names the step's status otherwise.
const std::string& output_of(const RunResult&, std::string_view slug);

}  // namespace detail

// How a run ended. Step slugs are checked by the compiler.
template <class F>
class Run {
 public:
  explicit Run(detail::RunResult result) : result_(std::move(result)) {}

  bool completed() const { return result_.completed; }
  // Why the run failed, "" when it did not.
  const std::string& error() const { return result_.error; }

  template <fixed_string S>
  Status status() const {
    (void)check<S>();
    return result_.step(S.view()).status;
  }
  template <fixed_string S>
  int attempts() const {
    (void)check<S>();
    return result_.step(S.view()).attempts;
  }
  // std::logic_error when the step did not complete.
  template <fixed_string S>
  auto output() const {
    if constexpr (check<S>()) {
      return from_json<typename F::template output_of<S>>(detail::output_of(result_, S.view()));
    }
  }

 private:
  template <fixed_string S>
  static consteval bool check() {
    return pgflow::detail::has_step<S>(static_cast<const F*>(nullptr));
  }

  detail::RunResult result_;
};

// Runs every step in this thread, retries without waiting, and passes each value through JSON, so
// that what JSON cannot hold is seen.
template <class I, class S, class... St, class... P>
Run<Flow<I, S, St...>> run(
    const Flow<I, S, St...>& flow,
    const std::type_identity_t<I>& input,
    const Provided<P>&... resources
) {
  using F = Flow<I, S, St...>;
  using Have = pgflow::detail::join_t<InProcessPlatform::provides, types<P...>>;
  [[maybe_unused]] constexpr bool ok =
      pgflow::detail::provided<Have>(static_cast<const F*>(nullptr));
  return Run<F>(detail::run(*flow.definition(), to_json(input), pgflow::detail::lend(resources...))
  );
}
template <class F, class... P>
Run<F> run(
    const StepQueuedFlow<F>& queued,
    const typename F::input_type& input,
    const Provided<P>&... resources
) {
  return run(queued.wrapped(), input, resources...);
}

}  // namespace pgflow::testing
