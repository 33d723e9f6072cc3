// Workers behind a connection that loses answers, requests, or everything: each task counts once.
#include "integration/worker_harness.hpp"
#include "support/faulty_proxy.hpp"

using namespace pgflow::test;

namespace {

struct Lossy : ProbeBench {
  Lossy() { database.rows("select pgflow.configure_events(array['table'])"); }

  std::unique_ptr<Process> worker() const {
    return start(
        {"--step", "work", "--max-concurrent", "1"},
        {{"DATABASE_URL", proxy.url(database)}, {"PROBE_TIMEOUT", "60"}}
    );
  }
  std::string completed(const std::string& count) const {
    return database.value(
        "select " + count +
        " from pgflow.step_tasks where step_slug = 'work' and status = 'completed'"
    );
  }
  // Each task of `work` was run and counted exactly once.
  void check_once(int tasks) const {
    const std::string all = std::to_string(tasks);
    CHECK(completed("count(*) || ' ' || sum(attempts_count)") == all + " " + all);
    CHECK(count_noted("start 1 ") == tasks);
    CHECK(
        database.value("select count(*) || ' ' || count(distinct run_id) from pgflow.event_log "
                       "where payload ->> 'event_type' = 'step:completed'") == all + " " + all
    );
    CHECK(
        database.value("select count(*) from pgflow.step_states where step_slug = 'report' "
                       "and status = 'started' and remaining_deps = 0") == all
    );
    CHECK(database.value("select count(*) from pgmq.q_probev1__report") == all);
    CHECK(database.value("select count(*) from pgmq.a_probev1__work") == all);
  }

  FaultyProxy proxy{Server::shared()};
};

}  // namespace

TEST_CASE("200 results whose commit was never confirmed each count once", "[e2e][loss]") {
  Lossy bench;
  std::vector<std::unique_ptr<Process>> workers;
  for (int i = 0; i < 4; ++i) workers.push_back(bench.worker());
  eventually("all are registered", 20s, [&] {
    return bench.database.value("select count(*) from pgflow.workers") == "4";
  });
  bench.proxy.arm(Fault::drop_reply, "complete_tasks");
  // A call may carry several results: calls are counted, not tasks.
  int tasks = 0;
  while (bench.proxy.faults() < 200) {
    for (int i = 0; i < 8; ++i) bench.run("finish", std::to_string(tasks++));
    eventually("all are completed", 60s, [&] {
      return bench.completed("count(*)") == std::to_string(tasks);
    });
  }
  bench.check_once(tasks);
}

TEST_CASE("results whose settling never arrived are settled again", "[e2e][loss]") {
  const int tasks = 20;
  Lossy bench;
  const auto worker = bench.worker();
  eventually("it is ready", 20s, [&] { return ProbeBench::said(*worker, "worker.ready"); });
  bench.proxy.arm(Fault::cut_request, "complete_tasks");
  // One after the other, so that each is settled by a call of its own.
  for (int i = 0; i < tasks; ++i)
    bench.await_task(bench.run("finish", std::to_string(i)), "completed", 20s);
  CHECK(bench.proxy.faults() == tasks);
  bench.check_once(tasks);
}

TEST_CASE("claims whose answer was lost are found and given back", "[e2e][loss]") {
  const int tasks = 20;
  Lossy bench;
  const auto worker = bench.worker();
  eventually("it is ready", 20s, [&] { return ProbeBench::said(*worker, "worker.ready"); });
  for (int i = 0; i < tasks; ++i) bench.run("finish", std::to_string(i));
  // A claim's text is always the same, so this one is lost once for each arming.
  for (int i = 1; i <= 5; ++i) {
    bench.proxy.arm(Fault::drop_reply, "read_and_claim");
    eventually("a claim is lost", 20s, [&] { return bench.proxy.faults() >= i; });
  }
  eventually("all are completed", 100s, [&] {
    return bench.completed("count(*)") == std::to_string(tasks);
  });
  bench.check_once(tasks);
}

TEST_CASE("a connection that freezes is given up, and the result is settled", "[e2e][loss]") {
  Lossy bench;
  const auto worker = bench.worker();
  eventually("it is ready", 20s, [&] { return ProbeBench::said(*worker, "worker.ready"); });
  bench.proxy.arm(Fault::freeze, "complete_tasks");
  const std::string run = bench.run("finish");
  eventually("it freezes", 20s, [&] { return bench.proxy.faults() == 1; });
  bench.await_task(run, "completed", 60s);
  bench.check_once(1);
}
