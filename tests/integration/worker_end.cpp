// A real worker and a real database: how a worker starts and ends.
#include <signal.h>

#include "integration/worker_harness.hpp"
#include "support/sql_session.hpp"

using namespace pgflow::test;

TEST_CASE("SIGTERM lets the running handler finish and exits 0", "[worker]") {
  const int signal = GENERATE(SIGTERM, SIGINT, SIGQUIT);
  const ProbeBench bench;
  const auto worker = bench.start_ready();
  const std::string run = bench.run("wait");
  eventually("the handler runs", 10s, [&] { return bench.noted("start 1 t"); });
  worker->signal(signal);
  eventually("it drains", 5s, [&] { return bench.said(*worker, "worker.draining"); });
  const std::string later = bench.run("finish", "later");
  bench.open_gate();
  CHECK(worker->wait(10s) == 0);
  CHECK(bench.task(run, "status") == "completed");
  CHECK(bench.task(later, "status") == "queued");
  CHECK_FALSE(bench.noted("start 1 later"));
  CHECK(bench.database.value("select stopped_at is not null from pgflow.workers") == "t");
}

TEST_CASE("an idle worker drains at once", "[worker]") {
  const ProbeBench bench;
  const auto worker = bench.start_ready();
  worker->signal(SIGTERM);
  CHECK(worker->wait(2s) == 0);
}

TEST_CASE("a second signal gives the tasks back and exits 1", "[worker]") {
  const ProbeBench bench;
  const auto worker = bench.start_ready();
  const std::string run = bench.run("ignore");
  eventually("the handler runs", 10s, [&] { return bench.noted("start 1 t"); });
  worker->signal(SIGTERM);
  eventually("it drains", 5s, [&] { return bench.said(*worker, "worker.draining"); });
  worker->signal(SIGTERM);
  CHECK(worker->wait(3s) == 1);
  CHECK(bench.task(run, "status") == "queued");
  CHECK(bench.task(run, "attempts_count") == "0");
  CHECK(bench.database.value("select vt <= clock_timestamp() from pgmq.q_probev1__work") == "t");
  CHECK(bench.database.value("select stopped_at is not null from pgflow.workers") == "t");
}

TEST_CASE("a signal during the start exits 0 at once", "[worker]") {
  const ProbeBench bench;
  const auto worker = bench.start({"--step", "work"}, {{"DATABASE_URL", "host=/nowhere dbname=x"}});
  eventually("it tries to connect", 5s, [&] { return bench.said(*worker, "database.down"); });
  worker->signal(SIGTERM);
  CHECK(worker->wait(2s) == 0);
}

TEST_CASE("a flow of another shape is refused before the worker is registered", "[worker]") {
  const ProbeBench bench;
  bench.start_ready();
  bench.database.rows("delete from pgflow.workers");
  const auto other = bench.start({"--step", "work"}, {{"PROBE_SHAPE", "other"}});
  CHECK(other->wait(10s) == 78);
  CHECK(bench.said(*other, "another shape"));
  CHECK(bench.said(*other, "error_hint="));
  CHECK(bench.database.value("select count(*) from pgflow.workers") == "0");
}

TEST_CASE("a flow of another queue mode is refused", "[worker]") {
  const ProbeBench bench;
  bench.start_ready();
  const auto other = bench.start({"--pgflow-worker"}, {{"PROBE_SHAPE", "plain"}});
  CHECK(other->wait(10s) == 78);
  CHECK(bench.said(*other, "Queue mode differs"));
}

TEST_CASE("a database without the schema is refused with the way to get it", "[worker]") {
  const ProbeBench bench;
  const Database empty("template1");
  const auto worker = bench.start({"--step", "work"}, {{"DATABASE_URL", empty.url()}});
  CHECK(worker->wait(10s) == 78);
  CHECK(bench.said(*worker, "pgflow migrate up"));
}

TEST_CASE("a newer schema is refused", "[worker]") {
  const ProbeBench bench;
  bench.database.rows(
      "insert into pgflow.schema_migrations (version, name, checksum) values (9999, 'from the "
      "future', 'x')"
  );
  const auto worker = bench.start();
  CHECK(worker->wait(10s) == 78);
  CHECK(bench.said(*worker, "error_hint="));
}

TEST_CASE("a deprecated worker finishes what it has and exits 79", "[worker]") {
  const ProbeBench bench;
  const auto worker = bench.start_ready();
  const std::string run = bench.run("wait");
  eventually("the handler runs", 10s, [&] { return bench.noted("start 1 t"); });
  bench.database.rows("update pgflow.workers set deprecated_at = now()");
  eventually("it drains", 10s, [&] { return bench.said(*worker, "worker.draining"); });
  bench.open_gate();
  CHECK(worker->wait(10s) == 79);
  CHECK(bench.task(run, "status") == "completed");
}

TEST_CASE("a worker that was released by somebody stops its handlers and exits 70", "[worker]") {
  const ProbeBench bench;
  const auto worker = bench.start_ready({"--step", "work", "--max-concurrent", "1"});
  const std::string run = bench.run("wait");
  eventually("the handler runs", 10s, [&] { return bench.noted("start 1 t"); });
  bench.database.rows(
      "select pgflow.release_worker(worker_id, 'declared dead by a test') from pgflow.workers"
  );
  CHECK(worker->wait(15s) == 70);
  CHECK(bench.ledger() == "start 1 t\ncancelled 1 t\n");
  CHECK(bench.task(run, "status") == "queued");
  CHECK(bench.task(run, "attempts_count") == "0");
}

TEST_CASE("a heartbeat that meets the release half done is told of the lost tasks", "[worker]") {
  const ProbeBench bench;
  const auto worker = bench.start_ready({"--step", "work", "--max-concurrent", "1"});
  bench.run("wait");
  eventually("the handler runs", 10s, [&] { return bench.noted("start 1 t"); });
  SqlSession somebody(bench.database);
  somebody.rows("begin; select pgflow.release_worker(worker_id, 'by a test') from pgflow.workers");
  // Its view of the tasks is older than the commit, its view of its own row is not.
  eventually("a heartbeat waits for the row", 15s, [&] {
    return bench.database.value(
               "select count(*) from pg_stat_activity where datname = current_database() and "
               "wait_event_type = 'Lock' and query like '%heartbeat_with_tasks%'"
           ) == "1";
  });
  somebody.rows("commit");
  CHECK(worker->wait(15s) == 70);
  CHECK(bench.ledger() == "start 1 t\ncancelled 1 t\n");
}

TEST_CASE("an unreachable database is given up after half a minute", "[worker]") {
  const ProbeBench bench;
  const auto worker = bench.start({"--step", "work"}, {{"DATABASE_URL", "host=/nowhere dbname=x"}});
  CHECK(worker->wait(45s) == 75);
  CHECK(bench.said(*worker, "error_hint="));
}
