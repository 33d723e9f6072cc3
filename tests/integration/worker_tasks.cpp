// A real worker and a real database: what becomes of tasks.
#include <signal.h>

#include <algorithm>
#include <sstream>

#include "integration/worker_harness.hpp"

using namespace pgflow::test;

TEST_CASE("a run goes through the workers of its two step queues", "[worker]") {
  const ProbeBench bench;
  const auto work = bench.start_ready();
  const auto report = bench.start_ready({"--step", "report"});
  const std::string run = bench.run("finish", "hello");
  eventually("the run is completed", 10s, [&] { return bench.run_status(run) == "completed"; });
  CHECK(bench.ledger() == "start 1 hello\nend 1 hello\nreport 1 hello\n");
  CHECK(bench.database.value("select output ->> 'report' from pgflow.runs") == "done hello");
  CHECK(bench.database.value("select count(*) from pgmq.q_probev1__work") == "0");
  CHECK(
      bench.database.value("select count(*) from pgflow.workers where stopped_at is null") == "2"
  );
}

TEST_CASE("a plain flow's one worker runs all its steps", "[worker]") {
  const ProbeBench bench;
  const auto worker = bench.start_ready({"--pgflow-worker"}, {{"PROBE_SHAPE", "plain"}});
  const std::string run = bench.run("finish");
  eventually("the run is completed", 10s, [&] { return bench.run_status(run) == "completed"; });
  CHECK(bench.count_noted("report") == 1);
}

TEST_CASE("a failed attempt is retried, and counts", "[worker]") {
  const ProbeBench bench;
  const auto worker = bench.start_ready();
  const std::string run = bench.run("fail_once");
  eventually("the first attempt has failed", 10s, [&] {
    return bench.task(run, "error_message") == "told to fail once";
  });
  eventually("the log says which step failed and why", 10s, [&] {
    return ProbeBench::said(*worker, "step=work run_id=" + run) &&
           ProbeBench::said(*worker, "error=\"told to fail once\"");
  });
  bench.make_visible();
  bench.await_task(run, "completed");
  CHECK(bench.task(run, "attempts_count") == "2");
}

TEST_CASE("the last failed attempt fails the run", "[worker]") {
  const ProbeBench bench;
  const auto worker = bench.start_ready();
  const std::string run = bench.run("fail");
  eventually("the first attempt has failed", 10s, [&] {
    return bench.task(run, "error_message") == "told to fail";
  });
  bench.make_visible();
  bench.await_task(run, "failed");
  CHECK(bench.task(run, "attempts_count") == "2");
  CHECK(bench.run_status(run) == "failed");
}

TEST_CASE("a permanent failure has no further attempt", "[worker]") {
  const ProbeBench bench;
  const auto worker = bench.start_ready();
  const std::string run = bench.run("give_up");
  bench.await_task(run, "failed");
  CHECK(bench.task(run, "attempts_count") == "1");
  CHECK(bench.task(run, "error_message") == "told to give up");
}

TEST_CASE("input that does not decode fails that attempt only", "[worker]") {
  const ProbeBench bench;
  const auto worker = bench.start_ready();
  const std::string bad = bench.run_with(R"({"act":"dance","tag":"t","file":""})");
  eventually("the attempt has failed", 10s, [&] {
    return bench.task(bad, "attempts_count") == "1" && bench.task(bad, "status") == "queued";
  });
  CHECK_THAT(bench.task(bad, "error_message"), Catch::Contains("/act") && Catch::Contains("dance"));
  const std::string good = bench.run("finish");
  bench.await_task(good, "completed");
  CHECK(worker->running());
}

TEST_CASE("the step's timeout stops the handler and fails the attempt", "[worker]") {
  const ProbeBench bench;
  const auto worker = bench.start_ready();
  const std::string run = bench.run("wait");
  eventually("the handler was stopped", 10s, [&] { return bench.noted("stopped 1 t"); });
  eventually("the attempt has failed", 5s, [&] {
    return bench.task(run, "error_message") == "timed out after 3 s";
  });
  CHECK(bench.task(run, "status") == "queued");
}

TEST_CASE("what was claimed ahead goes back when a slow handler holds it up", "[worker]") {
  const ProbeBench bench;
  const auto worker = bench.start_ready(
      {"--step", "work", "--max-concurrent", "1"},
      {{"PROBE_TIMEOUT", "60"}, {"EDGE_WORKER_LOG_LEVEL", "debug"}}
  );
  // Quick tasks come first, so the worker claims ahead; then its one handler waits at the gate.
  bench.database.rows(
      "select pgflow.start_flow('probeV1', jsonb_build_object('tag', 't', 'file', '" +
      bench.gate_path() +
      "', 'act', case when i <= 50 then 'finish' else 'wait' end)) from generate_series(1, 70) i"
  );
  const auto tasks = [&](const std::string& which) {
    return bench.database.value(
        "select count(*) from pgflow.step_tasks where step_slug = 'work' and " + which
    );
  };
  eventually("the quick ones are done and one slow one runs", 10s, [&] {
    return tasks("status = 'completed'") == "50" && bench.count_noted("start 1 t") == 51;
  });
  eventually("the worker has given back what it had claimed ahead", 10s, [&] {
    return bench.said(*worker, "outcome=released");
  });
  eventually("one is in hand, the others wait as if nobody had claimed them", 10s, [&] {
    return tasks("status = 'started' and attempts_count = 1") == "1" &&
           tasks("status = 'queued' and attempts_count = 0 and started_at is null") == "19";
  });
  CHECK(bench.count_noted("start 1 t") == 51);

  bench.open_gate();
  eventually("all are done", 20s, [&] { return tasks("status = 'completed'") == "70"; });
  CHECK(tasks("attempts_count = 1 and requeued_count = 0") == "70");
  CHECK(bench.count_noted("start 1 t") == 70);
}

TEST_CASE("a stuck handler costs its attempt and its worker, which exits 82", "[worker]") {
  const ProbeBench bench;
  const auto worker = bench.start_ready({"--step", "work", "--max-concurrent", "2"});
  const std::string deaf = bench.run("ignore", "deaf");
  eventually("the handler runs", 10s, [&] { return bench.noted("start 1 deaf"); });
  // The neighbour starts late enough to be within its own time when the worker gives up.
  eventually("the deadline has passed", 10s, [&] { return bench.said(*worker, "task.timed_out"); });
  const std::string neighbour = bench.run("wait", "neighbour");
  eventually("the neighbour runs", 3s, [&] { return bench.noted("start 1 neighbour"); });
  eventually("it is reported", 10s, [&] {
    return bench.said(*worker, "task.ignores_its_deadline");
  });
  const std::string unclaimed = bench.run("finish", "unclaimed");
  CHECK(worker->wait(25s) == 82);

  CHECK(
      bench.task(deaf, "error_message") ==
      "timed out after 3 s; the handler ignored its deadline, so its worker gave itself up"
  );
  CHECK(bench.task(deaf, "status || ' ' || attempts_count") == "queued 1");
  CHECK(bench.task(neighbour, "status || ' ' || attempts_count") == "queued 1");
  CHECK(bench.task(neighbour, "error_message") == "timed out after 3 s");
  CHECK(bench.task(unclaimed, "status || ' ' || attempts_count") == "queued 0");
  CHECK(bench.database.value("select count(stopped_at) from pgflow.workers") == "1");
}

TEST_CASE("an idle worker hears of a start", "[worker]") {
  const ProbeBench bench;
  const auto worker =
      bench.start_ready({}, {{"PROBE_SHAPE", "patient"}, {"PGFLOW_LOG_LEVEL", "debug"}});
  eventually("it listens", 10s, [&] { return bench.said(*worker, "wake_ups.on"); });
  bench.await_idle_look();
  bench.await_task(bench.run("finish"), "completed");
}

TEST_CASE("an idle worker looks again when a delayed message becomes visible", "[worker]") {
  const ProbeBench bench;
  bench.start_ready();  // compiles the flow, then goes
  const std::string run = bench.run("finish");
  const std::string visible = bench.database.value(
      "update pgmq.q_probev1__work set vt = clock_timestamp() + interval '2 s' returning vt"
  );
  const auto worker = bench.start_ready({}, {{"PROBE_SHAPE", "patient"}});
  bench.await_task(run, "completed");
  CHECK(bench.task(run, "started_at >= '" + visible + "'") == "t");
}

TEST_CASE("a worker never runs more tasks than it may", "[worker]") {
  const ProbeBench bench;
  const auto worker = bench.start_ready({"--step", "work", "--max-concurrent", "3"});
  std::vector<std::string> runs;
  for (int i = 0; i < 12; ++i) runs.push_back(bench.run("wait", std::to_string(i)));
  eventually("three handlers run", 10s, [&] { return bench.count_noted("start") >= 3; });
  CHECK(
      bench.database.value("select count(*) from pgflow.step_tasks where status = 'started'") == "3"
  );
  bench.open_gate();
  for (const std::string& run : runs) bench.await_task(run, "completed");
  // The ledger's order is the order of events.
  int running = 0;
  int most = 0;
  std::istringstream ledger(bench.ledger());
  for (std::string line; std::getline(ledger, line);) {
    running += line.starts_with("start") ? 1 : -1;
    most = std::max(most, running);
  }
  CHECK(most == 3);
}

TEST_CASE("a message that is no task stays in the queue and is named once", "[worker]") {
  const ProbeBench bench;
  const auto worker = bench.start_ready();
  const std::string id =
      bench.database.value("select pgmq.send('probev1__work', '{\"secret\":1}')");
  eventually("it is warned about", 10s, [&] {
    return bench.said(*worker, "queue.stray_messages");
  });
  CHECK(bench.said(*worker, "probev1__work"));
  CHECK(bench.said(*worker, "msg_ids=" + id));
  CHECK_FALSE(bench.said(*worker, "secret"));
  bench.make_visible();
  const std::string run = bench.run("finish");
  bench.await_task(run, "completed");
  CHECK(
      bench.database.value("select count(*) from pgmq.q_probev1__work where msg_id = " + id) == "1"
  );
  const std::string log = worker->err();
  CHECK(log.find("queue.stray_messages") == log.rfind("queue.stray_messages"));
}

TEST_CASE("a worker whose log nobody reads works on", "[worker]") {
  const ProbeBench bench;
  const UnreadPipe log;
  const auto worker =
      bench.start({"--step", "work"}, {{"PGFLOW_LOG_LEVEL", "debug"}}, {{log.writer(), 2}});
  eventually("it polls", 10s, [&] {
    return bench.database.value("select count(*) from pgflow.workers") == "1";
  });
  eventually("it has nowhere to log", 30s, [&] {
    bench.run("finish");
    return log.is_full();
  });
  const std::string run = bench.run("finish");
  bench.await_task(run, "completed", 30s);
  worker->signal(SIGTERM);
  CHECK(worker->wait(20s) == 0);
}
