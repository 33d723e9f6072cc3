// A real worker whose task is wanted no more: its handler is told so, and its result concerns
// nobody.
#include <signal.h>

#include "integration/worker_harness.hpp"

using namespace pgflow::test;

namespace {

const std::vector<std::string> kOneSlot{"--step", "work", "--max-concurrent", "1"};
// Long enough that whatever stops a handler here was not its timeout.
const std::vector<std::pair<std::string, std::string>> kUnhurried{{"PROBE_TIMEOUT", "60"}};

}  // namespace

TEST_CASE("a cancelled run's handler is told so, and makes room", "[worker]") {
  const ProbeBench bench;
  const auto worker = bench.start_ready(kOneSlot, kUnhurried);
  const std::string run = bench.run("wait");
  eventually("the handler runs", 10s, [&] { return bench.noted("start 1 t"); });
  bench.database.rows("select pgflow.cancel_run('" + run + "', 'changed my mind')");
  bench.await_task(bench.run("finish", "next"), "completed");
  CHECK(bench.ledger() == "start 1 t\ncancelled 1 t\nstart 1 next\nend 1 next\n");
  CHECK(bench.said(*worker, "task.cancelled"));
  CHECK(bench.task(run, "status || ' ' || error_message") == "cancelled changed my mind");
}

TEST_CASE("a cancelled handler that finishes all the same changes nothing", "[worker]") {
  const ProbeBench bench;
  const auto worker = bench.start_ready(kOneSlot, kUnhurried);
  const std::string run = bench.run("ignore");
  eventually("the handler runs", 10s, [&] { return bench.noted("start 1 t"); });
  bench.database.rows("select pgflow.cancel_run('" + run + "')");
  eventually("it is told", 10s, [&] { return bench.said(*worker, "task.cancelled"); });
  bench.open_gate();
  bench.await_task(bench.run("finish", "next"), "completed");
  CHECK(bench.ledger() == "start 1 t\nend 1 t\nstart 1 next\nend 1 next\n");
  CHECK(bench.task(run, "status") == "cancelled");
  CHECK(bench.task(run, "output") == "<null>");
  worker->signal(SIGTERM);
  CHECK(worker->wait(5s) == 0);
}

TEST_CASE("a task that went to another worker is the other's alone", "[worker]") {
  const ProbeBench bench;
  const auto first = bench.start_ready(kOneSlot, kUnhurried);
  const std::string run = bench.run("wait");
  eventually("the handler runs", 10s, [&] { return bench.noted("start 1 t"); });
  const auto second = bench.start_ready(kOneSlot, kUnhurried);
  bench.database.rows(
      "select pgflow.release_tasks((select last_worker_id from pgflow.step_tasks where run_id = '" +
      run + "' and step_slug = 'work'))"
  );
  eventually("both have it", 10s, [&] { return bench.count_noted("start 1 t") == 2; });
  eventually("the first is told", 10s, [&] { return bench.noted("cancelled 1 t"); });
  CHECK(bench.task(run, "status || ' ' || attempts_count") == "started 1");
  bench.open_gate();
  bench.await_task(run, "completed");
  CHECK_FALSE(bench.said(*second, "task.cancelled"));
  CHECK(bench.count_noted("end 1 t") == 1);
}

TEST_CASE("a deleted flow's handler is told so, and its worker ends with 78", "[worker]") {
  const ProbeBench bench;
  const auto worker = bench.start_ready(kOneSlot, kUnhurried);
  bench.run("wait");
  eventually("the handler runs", 10s, [&] { return bench.noted("start 1 t"); });
  bench.database.rows("select pgflow.delete_flow_and_data('probeV1')");
  CHECK(worker->wait(15s) == 78);
  CHECK(bench.ledger() == "start 1 t\ncancelled 1 t\n");
  CHECK(bench.said(*worker, "error_hint="));
}
