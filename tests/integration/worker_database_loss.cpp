// A real worker whose database goes away and comes back: nothing is lost, nothing is run twice.
#include <signal.h>

#include <future>

#include "integration/own_server.hpp"
#include "integration/worker_harness.hpp"

using namespace pgflow::test;

namespace {

// In one transaction: takes a lock, waits until a query of the worker with this name waits for it,
// does something, and ends that query's backend.
std::future<void> cut_when_waiting(
    const ProbeBench& bench,
    const std::string& query,
    const std::string& lock,
    const std::string& then
) {
  return std::async(std::launch::async, [&bench, query, lock, then] {
    bench.database.rows(
        "do $$ declare v_pid int; begin " + lock +
        ";"
        "  for i in 1..1000 loop"
        "    perform pg_stat_clear_snapshot();"
        "    select pid into v_pid from pg_stat_activity"
        "      where application_name like 'pgflow:%' and datname = current_database()"
        "        and query like '%" +
        query +
        "%' and wait_event_type = 'Lock';"
        "    exit when found;"
        "    perform pg_sleep(0.01);"
        "  end loop;"
        "  assert v_pid is not null, 'nobody waited';"
        "  " +
        (then.empty() ? "null" : then) +
        ";"
        "  perform pg_terminate_backend(v_pid, 5000);"
        "end $$"
    );
  });
}

// What a loaded machine takes for a restart of its server must not be a handler's timeout.
const std::vector<std::pair<std::string, std::string>> kUnhurried{{"PROBE_TIMEOUT", "60"}};

constexpr char kEndWorkersBackends[] =
    "select pg_terminate_backend(pid) from pg_stat_activity"
    "  where application_name like 'pgflow:%' and datname = current_database()";

}  // namespace

TEST_CASE("a worker whose connections were cut settles and claims again", "[worker]") {
  const ProbeBench bench;
  const auto worker = bench.start_ready({"--step", "work"}, kUnhurried);
  const std::string run = bench.run("wait");
  eventually("the handler runs", 10s, [&] { return bench.noted("start 1 t"); });
  bench.database.rows(kEndWorkersBackends);
  bench.open_gate();
  bench.await_task(run, "completed");
  const std::string next = bench.run("finish", "next");
  bench.await_task(next, "completed");
  CHECK(bench.task(run, "attempts_count") == "1");
  CHECK(bench.count_noted("start 1 t") == 1);
}

TEST_CASE("a connection cut in the middle of settling loses no result", "[worker]") {
  const ProbeBench bench;
  const auto worker = bench.start_ready({"--step", "work"}, kUnhurried);
  const std::string run = bench.run("wait");
  eventually("the handler runs", 10s, [&] { return bench.noted("start 1 t"); });
  auto cutter =
      cut_when_waiting(bench, "complete_tasks", "perform from pgflow.runs for update", "");
  eventually("the run is held", 5s, [&] {
    return bench.database.rows("select from pgflow.runs for update skip locked").empty();
  });
  bench.open_gate();
  cutter.get();
  bench.await_task(run, "completed");
  CHECK(bench.said(*worker, "database.down"));
  CHECK(bench.task(run, "attempts_count") == "1");
  CHECK(bench.ledger() == "start 1 t\nend 1 t\n");
}

TEST_CASE("what a lost claim claimed is given back", "[worker]") {
  const ProbeBench bench;
  const auto worker = bench.start_ready({"--step", "work"}, kUnhurried);
  // The claim that is cut here commits nothing. Its place takes one that commits unseen by the
  // worker: made in the worker's name while it waits for the answer to its own.
  // The lock makes the worker's next connection wait until that claim is committed.
  const std::string claim =
      "lock table pgflow.step_tasks in access exclusive mode;"
      "perform pgflow.start_flow('probeV1', '{\"act\":\"finish\",\"tag\":\"lost\",\"file\":\"\"}');"
      "perform pgflow.start_tasks('probeV1', array(select message_id from pgflow.step_tasks),"
      "  (select worker_id from pgflow.workers), queue_name => 'probev1__work', step_slug => "
      "'work')";
  cut_when_waiting(
      bench, "read_and_claim", "lock table pgmq.q_probev1__work in access exclusive mode", claim
  )
      .get();
  eventually("it is given back", 10s, [&] {
    return bench.said(*worker, "claim.lost_and_released");
  });
  eventually("it has run", 10s, [&] { return bench.noted("end 1 lost"); });
}

TEST_CASE("a server that crashes and comes back finds the results waiting", "[worker]") {
  const OwnServer server;
  const ProbeBench bench(server.address());
  const auto worker = bench.start_ready({"--step", "work"}, kUnhurried);
  const std::string run = bench.run("wait");
  eventually("the handler runs", 10s, [&] { return bench.noted("start 1 t"); });
  // The test servers commit asynchronously: without it the crash could undo the claim.
  bench.database.rows("checkpoint");
  server.crash();
  eventually("the worker knows", 10s, [&] { return bench.said(*worker, "database.down"); });
  bench.open_gate();
  eventually("the handler has ended", 5s, [&] { return bench.noted("end 1 t"); });
  server.resume();
  bench.await_task(run, "completed");
  CHECK(bench.task(run, "attempts_count") == "1");
  CHECK(bench.ledger() == "start 1 t\nend 1 t\n");
  worker->signal(SIGTERM);
  CHECK(worker->wait(5s) == 0);
}

TEST_CASE("a worker that starts before its database waits for it", "[worker]") {
  const OwnServer server;
  const ProbeBench bench(server.address());
  server.crash();
  const auto worker = bench.start();
  eventually("it tries to connect", 5s, [&] { return bench.said(*worker, "database.down"); });
  server.resume();
  eventually("it is ready", 15s, [&] { return bench.said(*worker, "worker.ready"); });
}
