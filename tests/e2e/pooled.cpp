// Workers behind PgBouncer in transaction mode, with fewer server connections than clients.
#include <signal.h>

#include "integration/worker_harness.hpp"
#include "support/pooler.hpp"

using namespace pgflow::test;

TEST_CASE("workers behind a transaction pooler poll, settle and drain", "[e2e][pooler]") {
  const ProbeBench bench;
  const Pooler pooler(Server::shared(), 2);
  const std::vector<std::pair<std::string, std::string>> pooled{
      {"DATABASE_URL", pooler.url(bench.database.url())}
  };
  std::vector<std::unique_ptr<Process>> workers;
  for (int i = 0; i < 2; ++i) workers.push_back(bench.start_ready({"--step", "work"}, pooled));
  workers.push_back(bench.start_ready({"--step", "report"}, pooled));
  eventually("it has found out that it is deaf", 10s, [&] {
    return ProbeBench::said(*workers[0], "wake_ups.off");
  });

  const std::string completed =
      "select count(*) || ' ' || sum(attempts_count) from pgflow.step_tasks where status = "
      "'completed'";
  for (int i = 0; i < 50; ++i) bench.run("finish", std::to_string(i));
  eventually("50 runs are completed", 30s, [&] {
    return bench.database.value(completed) == "100 100";
  });
  CHECK(bench.count_noted("start 1 ") == 50);

  const std::string failed = bench.run("give_up");
  eventually("a failure is settled", 10s, [&] { return bench.run_status(failed) == "failed"; });

  for (const auto& worker : workers) worker->signal(SIGTERM);
  for (const auto& worker : workers) CHECK(worker->wait(10s) == 0);
  CHECK(bench.database.value("select count(stopped_at) from pgflow.workers") == "3");
}
