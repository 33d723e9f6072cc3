// A real worker whose database is there and does not serve it: a standby, a full server, a role
// without rights, a dropped database. What passes by itself is waited for, said once, and never
// ends the worker.
#include <signal.h>

#include "integration/own_server.hpp"
#include "integration/worker_harness.hpp"

using namespace pgflow::test;

namespace {

const std::vector<std::pair<std::string, std::string>> kUnhurried{{"PROBE_TIMEOUT", "60"}};

constexpr const char* kEndWorkersBackends =
    "select pg_terminate_backend(pid) from pg_stat_activity"
    "  where application_name like 'pgflow:%' and datname = current_database()";

int count(const Process& worker, const std::string& text) {
  int found = 0;
  const std::string log = worker.err();
  for (std::size_t at = 0; (at = log.find(text, at)) != std::string::npos; ++at) ++found;
  return found;
}

// Said with its hint, and not again with each attempt; on the way to it there are other reasons.
void check_calm(const Process& worker, const std::string& sqlstate) {
  const std::string log = worker.err();
  const auto at = log.find("sqlstate=" + sqlstate);
  REQUIRE(at != std::string::npos);
  const auto begin = log.rfind('\n', at) + 1;
  const std::string line = log.substr(begin, log.find('\n', at) - begin);
  CHECK_THAT(line, Catch::Contains("database.down") && Catch::Contains("error_hint="));
  CHECK(count(worker, "sqlstate=" + sqlstate) <= 2);
  CHECK(count(worker, "database.down") <= 8);
  CHECK_FALSE(ProbeBench::said(worker, "database.error"));
}

// A role that may do what a worker and an operator do, and is no superuser.
class PlainRole {
 public:
  explicit PlainRole(const ProbeBench& bench, bool with_rights = true) : bench_(bench) {
    if (with_rights) {
      bench_.database.rows(read_file(PGFLOW_SOURCE_DIR "/sql/operator/roles.sql"));
    }
    bench_.database.rows("create role app login");
    if (with_rights) bench_.database.rows("grant pgflow_operator, pgflow_worker to app");
  }

  std::vector<std::pair<std::string, std::string>> environment() const {
    return {{"DATABASE_URL", bench_.database.url() + " user=app"}, {"PROBE_TIMEOUT", "60"}};
  }
  void limit_connections(int most) const {
    bench_.database.rows("alter role app connection limit " + std::to_string(most));
  }

 private:
  const ProbeBench& bench_;
};

}  // namespace

TEST_CASE("a worker that starts on a standby is ready once that is promoted", "[worker]") {
  const OwnServer server;
  const ProbeBench bench(server.address());
  server.demote();
  const auto worker = bench.start({"--step", "work"}, kUnhurried);
  eventually("it says so", 10s, [&] { return bench.said(*worker, "sqlstate=25006"); });
  server.promote();
  eventually("it is ready", 15s, [&] { return bench.said(*worker, "worker.ready"); });
  check_calm(*worker, "25006");
  bench.await_task(bench.run("finish"), "completed");
}

TEST_CASE("a primary that becomes a standby keeps neither results nor workers", "[worker]") {
  const OwnServer server;
  const ProbeBench bench(server.address());
  const auto worker = bench.start_ready({"--step", "work"}, kUnhurried);
  const std::string run = bench.run("wait");
  eventually("the handler runs", 10s, [&] { return bench.noted("start 1 t"); });
  server.demote();
  bench.open_gate();
  eventually("the result waits", 15s, [&] { return bench.said(*worker, "sqlstate=25006"); });
  server.promote();
  bench.await_task(run, "completed", 15s);
  CHECK(bench.task(run, "attempts_count") == "1");
  CHECK(bench.ledger() == "start 1 t\nend 1 t\n");
  check_calm(*worker, "25006");
  bench.await_task(bench.run("finish", "next"), "completed");
  eventually("it says that all is well", 5s, [&] { return bench.said(*worker, "database.up"); });
  worker->signal(SIGTERM);
  CHECK(worker->wait(5s) == 0);
}

TEST_CASE("a server that is starting is waited for", "[worker]") {
  const OwnServer server;
  const ProbeBench bench(server.address());
  const auto running = bench.start_ready({"--step", "report"}, kUnhurried);
  server.demote(false);
  const auto starting = bench.start({"--step", "work"}, kUnhurried);
  for (const auto* worker : {&running, &starting}) {
    eventually("it says so", 15s, [&] { return bench.said(**worker, "sqlstate=57P03"); });
  }
  server.promote();
  eventually("it is ready", 15s, [&] { return bench.said(*starting, "worker.ready"); });
  const std::string run = bench.run("finish");
  eventually("both work", 15s, [&] { return bench.run_status(run) == "completed"; });
  check_calm(*running, "57P03");
  check_calm(*starting, "57P03");
}

TEST_CASE("a server out of connections is waited for", "[worker]") {
  const OwnServer server;
  const ProbeBench bench(server.address());
  const PlainRole role(bench);
  role.limit_connections(0);
  const auto worker = bench.start({"--step", "work"}, role.environment());
  eventually("it says so", 10s, [&] { return bench.said(*worker, "sqlstate=53300"); });
  check_calm(*worker, "53300");
  role.limit_connections(-1);
  eventually("it is ready", 15s, [&] { return bench.said(*worker, "worker.ready"); });

  const std::string run = bench.run("wait");
  eventually("the handler runs", 10s, [&] { return bench.noted("start 1 t"); });
  role.limit_connections(0);
  bench.database.rows(kEndWorkersBackends);
  bench.open_gate();
  eventually("it says so again", 10s, [&] { return count(*worker, "sqlstate=53300") == 2; });
  CHECK(bench.task(run, "status") == "started");
  role.limit_connections(-1);
  bench.await_task(run, "completed", 15s);
  CHECK(bench.ledger() == "start 1 t\nend 1 t\n");
  CHECK(bench.task(run, "attempts_count") == "1");
}

TEST_CASE("a database that is read-only by default is waited for", "[worker]") {
  const ProbeBench bench;
  const auto worker = bench.start_ready({"--step", "work"}, kUnhurried);
  const std::string run = bench.run("wait");
  eventually("the handler runs", 10s, [&] { return bench.noted("start 1 t"); });
  bench.database.rows(
      "do $$ begin execute format("
      "  'alter database %I set default_transaction_read_only = on', current_database()); end $$"
  );
  bench.database.rows(kEndWorkersBackends);
  bench.open_gate();
  eventually("the result waits", 10s, [&] { return bench.said(*worker, "sqlstate=25006"); });
  check_calm(*worker, "25006");
  bench.database.rows(
      "begin read write; do $$ begin execute format("
      "  'alter database %I reset default_transaction_read_only', current_database()); end $$;"
      "commit"
  );
  bench.await_task(run, "completed", 15s);
  CHECK(bench.task(run, "attempts_count") == "1");
}

TEST_CASE("a role without rights is refused with the way to get them, exit 77", "[worker]") {
  const OwnServer server;
  const ProbeBench bench(server.address());
  const PlainRole role(bench, false);
  const auto worker = bench.start({"--step", "work"}, role.environment());
  CHECK(worker->wait(15s) == 77);
  CHECK(bench.said(*worker, "worker.refused"));
  CHECK(bench.said(*worker, "pgflow sql roles"));
}

TEST_CASE("a database that does not exist is refused at the start, exit 78", "[worker]") {
  const ProbeBench bench;
  const auto worker = bench.start(
      {"--step", "work"}, {{"DATABASE_URL", bench.database.url() + " dbname=nobody_made_it"}}
  );
  CHECK(worker->wait(15s) == 78);
  CHECK(bench.said(*worker, "Create the database, or correct its name"));
}

TEST_CASE("a database that is dropped under a worker is waited for", "[worker]") {
  const OwnServer server;
  const ProbeBench bench(server.address());
  const auto worker = bench.start_ready({"--step", "work"}, kUnhurried);
  const std::string name = bench.database.value("select current_database()");
  const Database other("template1", server.address());
  other.rows("drop database " + name + " with (force)");
  eventually("it says so", 10s, [&] { return bench.said(*worker, "sqlstate=3D000"); });
  check_calm(*worker, "3D000");
  CHECK(worker->running());
  // Made anew it knows neither this worker nor its flow: only a new worker can be of use.
  other.rows("create database " + name + " template pgflow_template");
  const auto code = worker->wait(20s);
  CAPTURE(worker->err());
  CHECK((code == 70 || code == 78));
}
