// A real worker whose heartbeats do not reach the database for longer than its tasks may take: 3 s.
#include <signal.h>

#include "integration/worker_harness.hpp"
#include "support/sql_session.hpp"

using namespace pgflow::test;

namespace {

void await_unheard(const ProbeBench& bench, const Process& worker) {
  eventually("it knows", 15s, [&] { return bench.said(worker, "worker.unheard"); });
}

// The task's message goes to another worker, as after its timeout.
constexpr char kTakeOver[] = R"sql(
  insert into pgflow.workers (worker_id, queue_name, function_name)
    values ('00000000-0000-4000-8000-000000000001', 'probev1__work', 'another');
  update pgflow.step_tasks set started_at = started_at - interval '10 minutes',
    queued_at = queued_at - interval '10 minutes' where status = 'started';
  select pgflow.requeue_stalled_tasks();
  update pgmq.q_probev1__work set vt = clock_timestamp();
  select count(*) from pgflow.read_and_claim(
    'probev1__work', 'probeV1', 'work', '00000000-0000-4000-8000-000000000001', 1);
)sql";

}  // namespace

TEST_CASE("a worker that the database cannot hear says so and takes no new work", "[worker]") {
  const ProbeBench bench;
  const auto worker = bench.start_ready();
  SqlSession holder(bench.database);
  // Only heartbeats want this lock: claims and results go through.
  holder.rows("begin; select from pgflow.workers for update");
  await_unheard(bench, *worker);
  const std::string run = bench.run("finish");
  eventually("nobody counts on it", 15s, [&] {
    return bench.database.value(
               "select not covered from pgflow.route_coverage('probeV1') where step_slug = 'work'"
           ) == "t";
  });
  CHECK(bench.task(run, "status") == "queued");
  holder.rows("rollback");
  bench.await_task(run, "completed");
  eventually("it is content", 5s, [&] { return bench.said(*worker, "worker.heard_again"); });
  worker->signal(SIGTERM);
  CHECK(worker->wait(10s) == 0);
}

TEST_CASE("a locked table of workers costs no worker, and late results go nowhere", "[worker]") {
  const ProbeBench bench;
  const auto worker = bench.start_ready();
  const std::string run = bench.run("wait");
  eventually("the handler runs", 10s, [&] { return bench.noted("start 1 t"); });
  SqlSession holder(bench.database);
  holder.rows("begin; lock table pgflow.workers in access exclusive mode");
  eventually("a claim waits", 10s, [&] {
    return bench.database.value(
               "select count(*) from pg_stat_activity where datname = current_database() and "
               "wait_event_type = 'Lock' and query like '%read_and_claim%'"
           ) == "1";
  });
  await_unheard(bench, *worker);
  eventually("the handler was stopped", 10s, [&] { return bench.noted("stopped 1 t"); });
  CHECK(holder.value(kTakeOver) == "1");
  holder.rows("commit");
  eventually("the late result is refused", 10s, [&] {
    return bench.said(*worker, "task.not_ours_any_more");
  });
  CHECK(bench.task(run, "status") == "started");
  CHECK(bench.task(run, "last_worker_id") == "00000000-0000-4000-8000-000000000001");
  const std::string next = bench.run("finish", "next");
  bench.await_task(next, "completed");
  CHECK(bench.said(*worker, "worker.heard_again"));
  worker->signal(SIGTERM);
  CHECK(worker->wait(10s) == 0);
}
