#include <pgflow/client.hpp>

#include <algorithm>
#include <mutex>
#include <thread>

#include "base/clock.hpp"
#include "base/strong.hpp"
#include "json/value.hpp"
#include "json/writer.hpp"
#include "pg/await.hpp"
#include "store/run_store.hpp"
#include "uv/loop.hpp"
#include "worker/environment.hpp"

namespace pgflow {
namespace {

using namespace std::chrono_literals;

// Beyond the connection's own limits, which tell better what happened.
constexpr auto kAnswerLimit = 6min;
// Between two reads of a run that is waited for.
constexpr std::chrono::milliseconds kFirstPause = 10ms;
constexpr std::chrono::milliseconds kLongestPause = 500ms;

template <class T>
T value_or_throw(Result<T> result) {
  if (!result) throw ClientError(std::move(result).error());
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

RunStatus run_status(std::string_view word) {
  if (word == "completed") return RunStatus::completed;
  return word == "failed" ? RunStatus::failed : RunStatus::started;
}

StepStatus step_status(std::string_view word) {
  if (word == "started") return StepStatus::started;
  if (word == "completed") return StepStatus::completed;
  if (word == "failed") return StepStatus::failed;
  return word == "skipped" ? StepStatus::skipped : StepStatus::created;
}

std::string text_at(const json::Value& object, std::string_view key) {
  const json::Value* value = object.find(key);
  return value != nullptr ? std::string(value->as_string().value_or("")) : std::string();
}

// JSON null is an output like any other: only a row says whether there is one.
detail::RunSnapshot snapshot_of(const json::Value& document) {
  const json::Value& run = *document.find("run");
  detail::RunSnapshot snapshot{
      .run_id = text_at(run, "run_id"), .status = run_status(text_at(run, "status"))
  };
  if (const json::Value& output = *run.find("output"); output.type == json::Type::object) {
    snapshot.output = json::text_of(output);
  }
  for (const json::Value& row : document.find("steps")->items) {
    detail::StepSnapshot& step = snapshot.steps.emplace_back();
    step.slug = text_at(row, "step_slug");
    step.status = step_status(text_at(row, "status"));
    if (step.status == StepStatus::completed) step.output = json::text_of(*row.find("output"));
    step.error = text_at(row, "error_message");
    step.skip_reason = text_at(row, "skip_reason");
  }
  return snapshot;
}

}  // namespace

const detail::StepSnapshot& detail::RunSnapshot::step(std::string_view slug) const {
  const auto found = std::find_if(steps.begin(), steps.end(), [&](const StepSnapshot& step) {
    return step.slug == slug;
  });
  // The same flow may have been compiled from other code, with other steps.
  if (found == steps.end()) {
    throw ClientError(
        {.kind = "step_unknown",
         .message = "The run has no step \"" + std::string(slug) + "\".",
         .hint = "The flow in the database was compiled from another definition."}
    );
  }
  return *found;
}

class Client::Engine {
 public:
  explicit Engine(pg::Dsn dsn)
      : connection_(loop_, {.dsn = std::move(dsn), .application_name = "pgflow-client"}) {}

  std::vector<std::string> start(
      const FlowDefinition& flow, const std::vector<std::string>& inputs
  ) {
    if (inputs.empty()) return {};
    const std::scoped_lock lock(mutex_);
    // Ids of our own tell after a lost answer whether the runs were started.
    std::vector<RunId> ids;
    for (std::size_t i = 0; i < inputs.size(); ++i) ids.push_back(RunId::time_ordered());
    Result<void> started = ask<void>([&](store::RunStore& runs, auto done) {
      runs.start_many(flow.slug, inputs, ids, done);
    });
    if (!started && !(asked_again_ && started.error().kind == "runs_pkey")) {
      throw ClientError(explained(std::move(started).error(), flow.slug));
    }
    std::vector<std::string> texts;
    for (const RunId& id : ids) texts.push_back(id.text());
    return texts;
  }

  Result<detail::RunSnapshot> read(const FlowDefinition& flow, std::string_view run_id) {
    const auto id = RunId::parse(run_id);
    if (!id) return tl::unexpected(id.error());
    const std::scoped_lock lock(mutex_);
    auto text = ask<std::optional<std::string>>([&](store::RunStore& runs, auto done) {
      runs.read(*id, done);
    });
    if (!text) return tl::unexpected(std::move(text).error());
    if (!*text) {
      return fail(
          {.kind = "run_unknown",
           .message = "There is no run " + id->text() + ".",
           .hint = "It may have been pruned, or belong to another database."}
      );
    }
    const auto document = json::parse(**text);
    if (!document) return tl::unexpected(document.error());
    if (const std::string slug = text_at(*document->find("run"), "flow_slug"); slug != flow.slug) {
      return fail(
          {.kind = "run_of_other_flow",
           .message =
               "Run " + id->text() + " is of flow \"" + slug + "\", not of \"" + flow.slug + "\"."}
      );
    }
    return snapshot_of(*document);
  }

 private:
  // Asks, and once more on a new connection when the one in use was lost.
  template <class T, class Start>
  Result<T> ask(Start start) {
    store::RunStore runs(connection_);
    asked_again_ = false;
    for (;;) {
      if (auto open = connected(); !open) return tl::unexpected(std::move(open).error());
      Result<T> result =
          pg::await<T>(loop_, kAnswerLimit, [&](auto done) { start(runs, std::move(done)); });
      if (result || result.error().kind != pg::kConnectionLost || asked_again_) return result;
      asked_again_ = true;
    }
  }

  Result<void> connected() {
    loop_.adopt();
    // What happened to an idle connection is seen now.
    loop_.poll();
    if (connection_.is_open()) return {};
    return pg::await<void>(loop_, kAnswerLimit, [&](auto done) {
      connection_.connect(std::move(done));
    });
  }

  static Error explained(Error error, const std::string& flow) {
    if (error.kind != "runs_flow_slug_fkey") return error;
    return {
        .kind = "flow_not_compiled",
        .message = "Flow \"" + flow + "\" is not compiled in this database.",
        .hint = "Start one of its workers, or `pgflow up`: that compiles it.",
        .sqlstate = error.sqlstate
    };
  }

  std::mutex mutex_;
  uv::Loop loop_;
  pg::Connection connection_;
  bool asked_again_ = false;
};

Client::Client(std::string_view connection_string)
    : engine_(std::make_unique<Engine>(value_or_throw(find_database(connection_string)))) {}
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;
Client::~Client() = default;

std::vector<std::string> Client::start_all(
    const FlowDefinition& flow, const std::vector<std::string>& inputs
) {
  return engine_->start(flow, inputs);
}

detail::RunSnapshot Client::snapshot(const FlowDefinition& flow, std::string_view run_id) {
  return value_or_throw(engine_->read(flow, run_id));
}

detail::RunSnapshot Client::last_snapshot(
    const FlowDefinition& flow, std::string_view run_id, std::chrono::milliseconds limit
) {
  const auto end = SteadyClock::now() + limit;
  for (auto pause = kFirstPause;; pause = std::min(pause * 2, kLongestPause)) {
    auto run = engine_->read(flow, run_id);
    const bool goes_on = run ? run->status == RunStatus::started : pg::is_transient(run.error());
    const auto left = end - SteadyClock::now();
    if (!goes_on || left <= SteadyClock::duration::zero()) return value_or_throw(std::move(run));
    std::this_thread::sleep_for(std::min<SteadyClock::duration>(pause, left));
  }
}

detail::RunSnapshot detail::run_to_end(
    Client& client,
    const FlowDefinition& flow,
    const std::string& input,
    std::chrono::milliseconds limit
) {
  return client.last_snapshot(flow, client.start_all(flow, {input}).front(), limit);
}

}  // namespace pgflow
