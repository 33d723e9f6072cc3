// A supervisor and real workers while somebody locks the table of workers.
#include <signal.h>

#include <fstream>

#include "integration/worker_harness.hpp"
#include "support/sql_session.hpp"

using namespace pgflow::test;

TEST_CASE("a supervisor blames no worker for a locked table", "[e2e]") {
  const ProbeBench bench;
  const std::string config = bench.folder.path() + "/pgflow.json";
  std::ofstream(config) << R"({"version": 1, "supervisor": {"state_dir": "state"},
    "defaults": {"watchdog": "2s"},
    "flows": [{"slug": "probeV1", "queue_mode": "step",
      "worker": {"command": [")" PGFLOW_BIN_DIR R"(/worker_probe"],
        "env": {"PROBE_LEDGER": ")"
                        << bench.ledger_path() << R"("}},
      "steps": {"work": {"processes": 1}, "report": {"processes": 1}}}]})";
  Process supervisor(
      {{PGFLOW_BIN_DIR "/pgflow", "up", "-c", config}, {{"DATABASE_URL", bench.database.url()}}}
  );
  const auto covered = [&] {
    return bench.database.value(
               "select count(*) from pgflow.route_coverage('probeV1') where covered"
           ) == "2";
  };
  eventually("both steps are covered", 30s, covered);
  const auto workers = bench.database.rows("select worker_id from pgflow.workers order by 1");

  SqlSession holder(bench.database);
  holder.rows("begin; lock table pgflow.workers in access exclusive mode");
  eventually("a worker knows", 15s, [&] { return bench.said(supervisor, "worker.unheard"); });
  eventually("much longer than the watchdog waits", 15s, [&] {
    return holder.value("select clock_timestamp() > now() + interval '10 seconds'") == "t";
  });
  holder.rows("rollback");

  bench.await_task(bench.run("finish"), "completed");
  eventually("both steps are covered again", 15s, covered);
  CHECK(bench.database.rows("select worker_id from pgflow.workers order by 1") == workers);
  CHECK_FALSE(ProbeBench::said(supervisor, "worker.exited"));
  supervisor.signal(SIGTERM);
  CHECK(supervisor.wait(30s) == 0);
}
