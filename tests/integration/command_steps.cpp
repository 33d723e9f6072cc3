// A real worker with a flow file and a real database: what becomes of the tasks of commands.
#include <signal.h>

#include "integration/command_bench.hpp"
#include "support/process_limit.hpp"

using namespace pgflow::test;

TEST_CASE("a task's input goes through a command into the database", "[command_steps]") {
  const CommandBench bench(kScripts);
  const auto worker = bench.start("work");
  const std::string run = bench.run("echo 123456789012345678901234567890");
  bench.await_task(run, "completed");
  CHECK(bench.task(run, "output") == "123456789012345678901234567890");
  eventually("the run is completed", 5s, [&] { return bench.run_status(run) == "completed"; });
}

TEST_CASE("the exit code decides about retries", "[command_steps]") {
  const CommandBench bench(kScripts);
  const auto worker = bench.start("work");
  struct Row {
    std::string script, status, attempts, error, run;
  };
  std::vector<Row> rows{
      {"exit 65", "failed", "1", "exited with 65", ""},
      {"echo no config >&2; exit 78", "failed", "1", "exited with 78: no config", ""},
      {"exit 75", "failed", "2", "exited with 75, a temporary failure", ""},
      {"exit 1", "failed", "2", "exited with 1", ""},
      {"kill -SEGV $$", "failed", "2", "died of SIGSEGV", ""},
      {"true",
       "failed",
       "2",
       "printed nothing on stdout: print one JSON value, or declare \"output\": \"none\"",
       ""},
  };
  for (Row& row : rows) row.run = bench.run(row.script);
  for (const Row& row : rows) {
    CAPTURE(row.script);
    eventually("the task has failed for good", 20s, [&] {
      bench.make_visible();
      return bench.task(row.run, "status") == row.status;
    });
    CHECK(bench.task(row.run, "attempts_count") == row.attempts);
    CHECK(bench.task(row.run, "error_message") == row.error);
  }
  CHECK(worker->running());
}

TEST_CASE("at the timeout the whole tree is gone before the next attempt", "[command_steps]") {
  const CommandBench bench(kScripts);
  const auto worker = bench.start("work");
  const std::string run = bench.run("setsid sleep 300 & trap : TERM; while :; do sleep 0.1; done");
  eventually("the attempt has timed out", 15s, [&] {
    return bench.task(run, "error_message") == "timed out after 3 s";
  });
  CHECK(bench.processes_of(*worker).empty());
  CHECK(bench.task(run, "status || ' ' || attempts_count") == "queued 1");
}

TEST_CASE("a cancelled run's command gets TERM, and nothing is recorded", "[command_steps]") {
  const CommandBench bench(kScripts);
  const auto worker = bench.start("work");
  const std::string told = bench.path("told"), up = bench.path("up");
  const std::string run = bench.run(
      "told() { echo told > " + told + "; exit; }; trap told TERM; echo up > " + up +
      "; for i in $(seq 25); do sleep 0.1; done; echo 1"
  );
  eventually("the command runs", 10s, [&] { return std::filesystem::exists(up); });
  bench.database.rows("select pgflow.cancel_run('" + run + "', 'changed my mind')");
  eventually("it is told", 2800ms, [&] { return std::filesystem::exists(told); });
  eventually("nothing is left of it", 5s, [&] { return bench.processes_of(*worker).empty(); });
  CHECK(bench.task(run, "status || ' ' || error_message") == "cancelled changed my mind");
  bench.await_task(bench.run("echo 1"), "completed");
}

TEST_CASE("a cancelled run's persistent command is told why", "[command_steps]") {
  const CommandBench bench(
      R"({"slug": "work", "timeout": 60, "handler": {"command": ["/usr/bin/python3", ")" PGFLOW_SOURCE_DIR
      R"(/tests/unit/worker/persistent_probe.py"], "mode": "persistent"}})"
  );
  const auto worker = bench.start("work");
  const std::string run = bench.run_with(R"({"act":"wait"})");
  const auto said = [&](const char* text) { return worker->err().find(text) != std::string::npos; };
  eventually("the command works on it", 10s, [&] { return said("here"); });
  bench.database.rows("select pgflow.cancel_run('" + run + "')");
  eventually("it is told", 5s, [&] { return said("told: cancelled"); });
  const std::string next = bench.run_with(R"({"act":"echo"})");
  bench.await_task(next, "completed");
  CHECK(bench.task(run, "status || ' ' || error_message") == "cancelled cancelled");
  CHECK(bench.processes_of(*worker).size() == 1);  // the same command goes on
}

TEST_CASE("a worker that is told twice to stop leaves no command behind", "[command_steps]") {
  const CommandBench bench(kScripts);
  const auto worker = bench.start("work");
  const std::string run =
      bench.run("setsid sleep 300 & echo up > " + bench.path("up") + "; sleep 300");
  eventually("the command runs", 10s, [&] { return std::filesystem::exists(bench.path("up")); });
  const std::string mark = bench.mark_of(*worker);
  worker->signal(SIGTERM);
  eventually("it drains", 5s, [&] {
    return worker->err().find("worker.draining") != std::string::npos;
  });
  worker->signal(SIGTERM);
  CHECK(worker->wait(15s) == 1);
  CHECK(bench.task(run, "status || ' ' || attempts_count") == "queued 0");
  CHECK(processes_with(mark).empty());
}

TEST_CASE("a persistent command is shared by the tasks of a worker", "[command_steps]") {
  const CommandBench bench(
      R"({"slug": "work", "timeout": 30, "handler": {"command": ["/usr/bin/python3", ")" PGFLOW_SOURCE_DIR
      R"(/tests/unit/worker/persistent_probe.py"], "mode": "persistent",
                              "env": {"PROBE_CONCURRENCY": "2"}}})"
  );
  const auto worker = bench.start("work");
  std::vector<std::string> runs;
  for (int i = 0; i < 6; ++i) runs.push_back(bench.run_with(R"({"act":"echo"})"));
  for (const std::string& run : runs) bench.await_task(run, "completed");
  CHECK(
      bench.database.value("select count(distinct output ->> 'pid') <= 3 from pgflow.step_tasks") ==
      "t"
  );
  CHECK(
      bench.database.value(
          "select bool_and(output #>> '{task,msgId}' = message_id::text) from pgflow.step_tasks"
      ) == "t"
  );
  const std::string exit = bench.run_with(R"({"act":"exit","code":78})");
  CHECK(worker->wait(20s) == 78);
  CHECK(bench.task(exit, "error_message") == "exited with 78");
  CHECK(bench.task(exit, "status || ' ' || attempts_count") == "queued 1");
  CHECK(processes_with(bench.mark_of(*worker)).empty());
}

TEST_CASE(
    "a command that no process is left for is tried again within its attempt", "[command_steps]"
) {
  const bool persistent = GENERATE(false, true);
  CAPTURE(persistent);
  const CommandBench bench(
      persistent
          ? R"({"slug": "work", "handler": {"mode": "persistent", "command": ["/bin/sh", "-c",
              "read h; echo '{\"type\":\"ready\"}'; while read t; do echo '{\"type\":\"result\",\"id\":\"1\",\"output\":1}'; exit; done"]}})"
          : kScripts
  );
  give_to_limited_user(bench.folder());
  const auto worker = bench.start_with(as_limited_user(), "work");
  const auto tries = [&] {
    const std::string log = worker->err();
    int count = 0;
    for (std::size_t at = 0; (at = log.find("command.no_room", at)) != std::string::npos; ++at)
      ++count;
    return count;
  };
  bench.await_task(bench.run("echo 1"), "completed");
  limit_processes(worker->pid(), true);

  // It waits for room, and gets it.
  const std::string lucky = bench.run("echo 2");
  eventually("it was tried twice", 10s, [&] { return tries() >= 2; });
  CHECK(bench.task(lucky, "status") == "started");
  limit_processes(worker->pid(), false);
  bench.await_task(lucky, "completed");
  CHECK(bench.task(lucky, "attempts_count") == "1");

  // It waits in vain: several at once, although their threads cannot be made either.
  limit_processes(worker->pid(), true);
  std::vector<std::string> unlucky;
  for (int i = 0; i < 3; ++i) unlucky.push_back(bench.run("echo 3"));
  for (const std::string& run : unlucky) {
    eventually("the attempts end", 40s, [&] {
      bench.make_visible();
      return bench.task(run, "status") == "failed";
    });
    CHECK(bench.task(run, "attempts_count") == "2");
  }
  CHECK(
      bench.task(unlucky[0], "error_message").find("Resource temporarily unavailable") !=
      std::string::npos
  );
  limit_processes(worker->pid(), false);
  bench.await_task(bench.run("echo 4"), "completed");
  CHECK(worker->running());
}
