// A flow under test, from the smallest to the largest: one handler, a whole flow in this thread
// without a database, a whole flow with real workers on a throw-away database.
//
//   testing::call<"deliverSlack">(flow, {.input = In{classified}}, resource(fake_slack)).slack_ts;
//   testing::run(flow, Message{"t1", "why?"}, resource(fake_slack)).completed();
//   testing::Database database;
//   testing::run_flow(database, flow, Message{"t1", "why?"}, resource(fake_slack)).completed();
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <pgflow/client.hpp>

namespace pgflow::testing {

// ---- One handler

// A step's input, made from any value that has its JSON form.
struct Input {
  // From a value with a JSON form.
  template <class T>
  Input(const T& value) {
    if constexpr (JsonType<T>) {
      json = to_json(value);
    } else {
      using Offender = typename decltype(pgflow::detail::offending<T>())::type;
      (void)diag::no_json_form<diag::type<T>, diag::got<Offender>>{};
    }
  }
  // From a string literal.
  Input(const char* text) : json(to_json(std::string(text))) {}
  std::string json;  // as it reaches the handler
};

// What one attempt of a handler is given. I is the flow's input type.
template <class I>
struct Given {
  // A root step's: the flow's input. A map's: one element. Of a step with dependencies: a struct
  // with members named after them.
  Input input;
  // What FlowInput reads; of a root step the input itself.
  std::optional<I> flow_input{};
  int attempt = 1;       // this one, counted from 1
  int max_attempts = 3;  // in all
  // Other than none: the handler finds the stop already requested, for this reason.
  StopReason stopped = StopReason::none;
};

namespace detail {

struct OneCall {
  std::string_view step;
  const std::string& input;
  std::optional<std::string> flow_input;
  int attempt;
  int max_attempts;
  StopReason stopped;
};
std::string call(const FlowDefinition&, const OneCall&, const pgflow::detail::Resources&);

template <class Have, fixed_string S, class I, class Slug, class... Steps>
consteval bool step_provided(const Flow<I, Slug, Steps...>*) {
  using Step = pgflow::detail::step_named<S, Steps...>;
  return pgflow::detail::step_provided<Step>(typename Step::needs{}, Have{});
}

template <StepKind K, class Out>
struct task_output {
  using type = Out;
};
template <class Out>
struct task_output<StepKind::map, Out> {
  using type = typename Out::value_type;
};
template <fixed_string S, class I, class Slug, class... Steps>
auto task_output_of(const Flow<I, Slug, Steps...>*) {
  using Step = pgflow::detail::step_named<S, Steps...>;
  return task_output<Step::kind, typename Step::output>{};
}

}  // namespace detail

// Calls the step's handler once, in this thread, through JSON as a worker does, and returns its
// output (of a map: the element's). Whatever the handler throws comes through; JsonError when the
// input does not fit. Only the resources that this step asks for are needed.
template <fixed_string S, class F, class... P>
auto call(
    const F& flow,
    const Given<typename pgflow::detail::plain_flow_t<F>::input_type>& given,
    const Provided<P>&... resources
) {
  using Plain = pgflow::detail::plain_flow_t<F>;
  constexpr const Plain* type = nullptr;
  if constexpr (pgflow::detail::has_step<S>(type)) {
    using Have = pgflow::detail::join_t<InProcessPlatform::provides, types<P...>>;
    [[maybe_unused]] constexpr bool ok = detail::step_provided<Have, S>(type);
    std::optional<std::string> flow_input;
    if (given.flow_input) flow_input = to_json(*given.flow_input);
    const std::string output = detail::call(
        pgflow::detail::definition_of(flow),
        {S.view(),
         given.input.json,
         std::move(flow_input),
         given.attempt,
         given.max_attempts,
         given.stopped},
        pgflow::detail::lend(resources...)
    );
    return from_json<typename decltype(detail::task_output_of<S>(type))::type>(output);
  }
}

// ---- A whole flow, without a database

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
  // Made by run().
  explicit Run(detail::RunResult result) : result_(std::move(result)) {}

  // The run ended well.
  bool completed() const { return result_.completed; }
  // Why the run failed, "" when it did not.
  const std::string& error() const { return result_.error; }

  // Of the step S.
  template <fixed_string S>
  Status status() const {
    (void)check<S>();
    return result_.step(S.view()).status;
  }
  // That the step S needed; of a map, the task that needed most.
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
// The same for a flow with step queues: they make no difference here.
template <class F, class... P>
Run<F> run(
    const StepQueuedFlow<F>& queued,
    const typename F::input_type& input,
    const Provided<P>&... resources
) {
  return run(queued.wrapped(), input, resources...);
}

// ---- A whole flow, with one

// A database with the schema pgflow in it, gone with this object. Making one with a server of its
// own takes seconds: share it between tests. Any number of runs and flows fit into one.
class Database {
 public:
  // On a private PostgreSQL, which is started for it; the Debian package postgresql is needed.
  Database();
  // On a server that runs: a URL or libpq's keywords of a role that may create databases.
  explicit Database(std::string_view server);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // For Client, WorkerConfig or any other program. Holds the password, if there is one.
  const std::string& connection_string() const;

 private:
  class Engine;
  std::unique_ptr<Engine> engine_;
};

namespace detail {

pgflow::detail::RunSnapshot
run_flow(const Database&, const std::shared_ptr<const FlowDefinition>&, const std::vector<StepRoute>* routes, const std::string& input, const pgflow::detail::Resources&);

template <class I, class S, class... St>
const std::vector<StepRoute>* routes_of(const Flow<I, S, St...>&) {
  return nullptr;
}
template <class F>
const std::vector<StepRoute>* routes_of(const StepQueuedFlow<F>& queued) {
  return &queued.routes();
}
template <class I, class S, class... St>
const auto& shared_definition(const Flow<I, S, St...>& flow) {
  return flow.definition();
}
template <class F>
const auto& shared_definition(const StepQueuedFlow<F>& queued) {
  return queued.wrapped().definition();
}

}  // namespace detail

// Compiles the flow, starts a run, serves it with real workers on threads of this process (one for
// each step queue), and returns the run when it has ended, or after 60 s as it is then: ask
// ended(). Retries wait as they do in production. Throws Exception when a worker cannot start.
template <class F, class... P>
RunView<pgflow::detail::plain_flow_t<F>> run_flow(
    const Database& database,
    const F& flow,
    const typename pgflow::detail::plain_flow_t<F>::input_type& input,
    const Provided<P>&... resources
) {
  using Plain = pgflow::detail::plain_flow_t<F>;
  using Have = pgflow::detail::join_t<ProcessPlatform::provides, types<P...>>;
  [[maybe_unused]] constexpr bool ok =
      pgflow::detail::provided<Have>(static_cast<const Plain*>(nullptr));
  return RunView<Plain>(detail::run_flow(
      database,
      detail::shared_definition(flow),
      detail::routes_of(flow),
      to_json(input),
      pgflow::detail::lend(resources...)
  ));
}

}  // namespace pgflow::testing
