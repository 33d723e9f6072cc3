// Starting runs and reading them from any program, typed by the flow; no worker is needed.
//
//   Client client;                                        // DATABASE_URL
//   const std::string id = client.start(community_threads, Message{"t1", "why?"});
//   const auto run = client.wait(community_threads, id, std::chrono::seconds(30));
//   if (const auto delivered = run.output<"deliverSlack">())
//   std::puts(delivered->slack_ts.c_str());
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <pgflow/edge_worker.hpp>

namespace pgflow {

// completed and failed are final (sql-core 1.1).
enum class RunStatus { started, completed, failed };
// completed, failed and skipped are final (sql-core 1.2).
enum class StepStatus { created, started, completed, failed, skipped };

// The database refused, or could not be reached. error().sqlstate is PostgreSQL's, "" when it gave
// no answer. Kinds of our own: database_url, connection_failed, connection_lost, timeout,
// flow_not_compiled, run_unknown, run_of_other_flow; the database's: see docs/sql-api.md.
struct ClientError : Exception {
  using Exception::Exception;
};

class Client;

namespace detail {

struct StepSnapshot {
  std::string slug{};
  StepStatus status = StepStatus::created;
  std::optional<std::string> output{};  // JSON, of a completed step
  std::string error{};                  // of a failed step, or one skipped because it failed
  std::string skip_reason{};            // of a skipped step
};

struct RunSnapshot {
  std::string run_id{};
  RunStatus status = RunStatus::started;
  std::optional<std::string> output{};  // JSON, of a completed run with a completed leaf
  std::vector<StepSnapshot> steps{};
  const StepSnapshot& step(std::string_view slug) const;
};

// For testing::run_flow, which has no type of the flow any more.
RunSnapshot run_to_end(
    Client&, const FlowDefinition&, const std::string& input, std::chrono::milliseconds limit
);

template <class F>
using plain_flow_t = typename wrapped_flow<F>::type;

template <class Input, class Slug, class... Steps>
const FlowDefinition& definition_of(const Flow<Input, Slug, Steps...>& flow) {
  return *flow.definition();
}
template <class F>
const FlowDefinition& definition_of(const StepQueuedFlow<F>& queued) {
  return *queued.wrapped().definition();
}

}  // namespace detail

// A run as it was when it was read: nothing here asks the database. Step slugs are checked by the
// compiler. F is the plain Flow.
template <class F>
class RunView {
 public:
  // Made by Client.
  explicit RunView(detail::RunSnapshot snapshot) : snapshot_(std::move(snapshot)) {}

  const std::string& id() const { return snapshot_.run_id; }  // UUID
  // Of the run.
  RunStatus status() const { return snapshot_.status; }
  // Completed or failed: nothing changes any more.
  bool ended() const { return snapshot_.status != RunStatus::started; }
  // Ended well.
  bool completed() const { return snapshot_.status == RunStatus::completed; }

  // Of the step S.
  template <fixed_string S>
  StepStatus status() const {
    (void)check<S>();
    return snapshot_.step(S.view()).status;
  }
  // Nothing unless the step completed. JsonError when it was written by other code than F's.
  template <fixed_string S>
  auto output() const {
    if constexpr (check<S>()) {
      using Output = typename F::template output_of<S>;
      const auto& text = snapshot_.step(S.view()).output;
      return text ? std::optional<Output>(from_json<Output>(*text)) : std::nullopt;
    }
  }
  // What the last failed task said; "" when none made the step fail or be skipped.
  template <fixed_string S>
  const std::string& error() const {
    (void)check<S>();
    return snapshot_.step(S.view()).error;
  }
  // condition_unmet, handler_failed or dependency_skipped; "" when the step is not skipped.
  template <fixed_string S>
  const std::string& skip_reason() const {
    (void)check<S>();
    return snapshot_.step(S.view()).skip_reason;
  }

  // The outputs of the completed leaf steps by slug, as JSON text; nothing before the run completed
  // and when no leaf did.
  const std::optional<std::string>& output_json() const { return snapshot_.output; }

 private:
  template <fixed_string S>
  static consteval bool check() {
    return detail::has_step<S>(static_cast<const F*>(nullptr));
  }

  detail::RunSnapshot snapshot_;
};

// One connection, opened at the first call and again when it was lost. Any thread may call; calls
// wait for one another. Every call throws ClientError. F is a Flow or a StepQueuedFlow: queue mode
// is a matter of deployment.
class Client {
 public:
  // A URL or libpq's keywords; "" takes DATABASE_URL, then EDGE_WORKER_DB_URL, then libpq's own
  // variables.
  explicit Client(std::string_view connection_string = {});
  // Takes the connection over.
  Client(Client&&) noexcept;
  // Takes the connection over.
  Client& operator=(Client&&) noexcept;
  ~Client();

  // Starts a run and gives its id, a UUID. The flow must be compiled in this database (a worker or
  // a supervisor does that). A connection that is lost meanwhile starts it once all the same.
  template <class F>
  std::string start(const F& flow, const typename detail::plain_flow_t<F>::input_type& input) {
    return start_all(detail::definition_of(flow), {to_json(input)}).front();
  }

  // All or none, in one transaction; ids in the order of the inputs. Thousands at once are fine.
  template <class F>
  std::vector<std::string> start_many(
      const F& flow, const std::vector<typename detail::plain_flow_t<F>::input_type>& inputs
  ) {
    std::vector<std::string> texts;
    texts.reserve(inputs.size());
    for (const auto& input : inputs) texts.push_back(to_json(input));
    return start_all(detail::definition_of(flow), texts);
  }

  // The run as it is now.
  template <class F>
  RunView<detail::plain_flow_t<F>> read(const F& flow, std::string_view run_id) {
    return RunView<detail::plain_flow_t<F>>(snapshot(detail::definition_of(flow), run_id));
  }

  // Reads until the run has ended or the time is over: ask ended(). Survives a database that is
  // away meanwhile, and throws only when it is still away at the end.
  template <class F>
  RunView<detail::plain_flow_t<F>> wait(
      const F& flow, std::string_view run_id, std::chrono::milliseconds limit
  ) {
    return RunView<detail::plain_flow_t<F>>(
        last_snapshot(detail::definition_of(flow), run_id, limit)
    );
  }

 private:
  friend detail::RunSnapshot detail::run_to_end(
      Client&, const FlowDefinition&, const std::string& input, std::chrono::milliseconds limit
  );

  std::vector<std::string> start_all(
      const FlowDefinition& flow, const std::vector<std::string>& inputs
  );
  detail::RunSnapshot snapshot(const FlowDefinition& flow, std::string_view run_id);
  detail::RunSnapshot last_snapshot(
      const FlowDefinition& flow, std::string_view run_id, std::chrono::milliseconds limit
  );

  class Engine;
  std::unique_ptr<Engine> engine_;
};

}  // namespace pgflow
