// plan_worker and EdgeWorker::start: what is refused before anything is started.
#include <pgflow/edge_worker.hpp>

#include "support/catch.hpp"

using namespace pgflow;
using namespace std::chrono_literals;
using detail::plan_worker;

namespace {

const auto same = [](int n) { return n; };

auto threads() {
  return flow<"threadsV1", int>().step<"classify">(same).step<"deliverSlack">(same);
}

template <class F>
StepSelectionError selection_error(F f) {
  try {
    f();
  } catch (const StepSelectionError& e) {
    return e;
  }
  FAIL("no StepSelectionError");
  throw;
}

}  // namespace

TEST_CASE("a plain flow's worker takes the default queue and all routes", "[worker][plan]") {
  const auto plan = plan_worker(threads().definition(), nullptr, std::nullopt, {}, {});
  CHECK(plan.mode == QueueMode::flow);
  CHECK(plan.queue_name == "threadsv1");
  CHECK_FALSE(plan.step_slug.has_value());
  CHECK(plan.routes.size() == 2);
  CHECK(plan.routes[1].queue_name == "threadsv1");
}

TEST_CASE("a step worker takes its step's queue and the whole route map", "[worker][plan]") {
  const auto queued = with_step_queues(threads());
  const auto plan =
      plan_worker(queued.wrapped().definition(), &queued.routes(), "deliverSlack", {}, {});
  CHECK(plan.mode == QueueMode::step);
  CHECK(plan.queue_name == "threadsv1__deliverslack");
  CHECK(plan.step_slug == "deliverSlack");
  CHECK(plan.routes == queued.routes());
}

TEST_CASE("a missing, unknown or needless step is refused with the valid ones", "[worker][plan]") {
  const auto queued = with_step_queues(threads());
  const std::vector<std::string> valid = {"classify", "deliverSlack"};

  const auto missing = selection_error([&] { EdgeWorker::start(queued, std::string_view("")); });
  CHECK(missing.reason == StepSelectionError::Reason::missing);
  CHECK(missing.error().kind == "step_missing");
  CHECK(missing.valid == valid);

  const auto wrong_case =
      selection_error([&] { EdgeWorker::start(queued, std::string_view("Classify")); });
  CHECK(wrong_case.reason == StepSelectionError::Reason::unknown);
  CHECK(wrong_case.given == "Classify");
  CHECK(wrong_case.flow_slug == "threadsV1");
  CHECK(wrong_case.error().message == "Flow \"threadsV1\" has no step \"Classify\".");
  CHECK(wrong_case.error().detail == "Steps: classify, deliverSlack.");
  CHECK(wrong_case.error().hint == "Did you mean \"classify\"?");

  const auto needless =
      selection_error([&] { plan_worker(threads().definition(), nullptr, "classify", {}, {}); });
  CHECK(needless.reason == StepSelectionError::Reason::not_allowed);
}

TEST_CASE("a worker's numbers are checked", "[worker][plan]") {
  const auto refused = [](WorkerConfig config) {
    try {
      EdgeWorker::start(threads(), std::move(config));
    } catch (const OptionError& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  CHECK(
      refused({.max_concurrent = 0}) == "Worker configuration: max_concurrent must be at least 1."
  );
  CHECK(refused({.batch_size = 0}) == "Worker configuration: batch_size must be at least 1.");
  CHECK(refused({.max_poll = 0s}) == "Worker configuration: max_poll must be at least 1 s.");
  CHECK(
      refused({.poll_interval = 0ms}) ==
      "Worker configuration: poll_interval must be at least 1 ms."
  );
}

TEST_CASE("a plain flow whose queue name is too long does not start", "[worker][plan]") {
  const auto f = flow<int>(std::string(48, 'f')).step<"s">(same);
  CHECK_THROWS_AS(EdgeWorker::start(f), DefaultQueueNameError);
}

TEST_CASE("only a start that passed its checks uses up the process's start", "[worker][plan]") {
  CHECK_THROWS_AS(EdgeWorker::start(threads(), {.max_concurrent = 0}), OptionError);
  CHECK_NOTHROW(detail::claim_process());
  CHECK_THROWS_AS(EdgeWorker::start(threads()), AlreadyStartedError);
}
