// One flow, two step queues, two worker pools, one run.
#include "e2e/supervised.hpp"

using namespace pgflow::test;

TEST_CASE("both step queues carry one run of one DAG", "[e2e]") {
  const Supervised flow;
  const auto& database = flow.database();
  const auto helped = flow.start(R"({"key": "helped", "route": "help"})");
  const auto other = flow.start(R"({"key": "other", "route": "other"})");

  eventually("both runs are completed", 20s, [&] {
    return database.value("select count(*) from pgflow.runs where status = 'completed'") == "2";
  });

  // One run, one task on each queue, each archived there.
  CHECK(
      database.rows(
          "select step_slug, queue_name, status, attempts_count from pgflow.step_tasks"
          " where run_id = '" +
          helped + "' order by step_slug"
      ) ==
      std::vector<std::vector<std::string>>{
          {"classify", "communitythreadsv1__classify", "completed", "1"},
          {"deliverSlack", "communitythreadsv1__deliverslack", "completed", "1"}
      }
  );
  CHECK(
      database.value("select output from pgflow.runs where run_id = '" + helped + "'") ==
      R"({"deliverSlack": {"key": "helped"}})"
  );
  // The condition is unmet in the other run, and its queue never saw a message of it.
  CHECK(
      database.value(
          "select status || ' ' || skip_reason from pgflow.step_states"
          " where step_slug = 'deliverSlack' and run_id = '" +
          other + "'"
      ) == "skipped condition_unmet"
  );
  CHECK(database.value("select count(*) from pgmq.a_communitythreadsv1__classify") == "2");
  CHECK(database.value("select count(*) from pgmq.a_communitythreadsv1__deliverslack") == "1");
  CHECK(
      database.value(
          "select string_agg(queue_name, ' ' order by queue_name) from pgmq.list_queues()"
      ) == "communitythreadsv1__classify communitythreadsv1__deliverslack"
  );
  // Two processes, one for each step.
  std::map<std::string, std::set<pid_t>> pids;
  for (const auto& line : flow.ledger()) {
    pids[line.step].insert(line.pid);
  }
  CHECK(pids["classify"].size() == 1);
  CHECK(pids["deliverSlack"].size() == 1);
  CHECK(pids["classify"] != pids["deliverSlack"]);
}

TEST_CASE(
    "A24: ready work of one step progresses while another step's pool is saturated", "[e2e]"
) {
  const Supervised flow(4);
  const auto& database = flow.database();

  // Twenty runs reach deliverSlack, whose one handler waits: one task runs, nineteen are ready.
  for (int i = 0; i < 20; ++i) {
    flow.start(
        R"({"key": "ready)" + std::to_string(i) +
        R"(", "route": "help", "deliver_gate": "deliver"})"
    );
  }
  eventually("twenty threads are classified", 20s, [&] {
    return flow.noted("end", "classify", "ready").size() == 20;
  });
  // Now the pool of classify is saturated: four handlers wait, four more tasks are queued behind
  // them.
  for (int i = 0; i < 8; ++i) {
    flow.start(
        R"({"key": "stuck)" + std::to_string(i) +
        R"(", "route": "other", "classify_gate": "classify"})"
    );
  }
  eventually("classify is saturated", 20s, [&] {
    return flow.noted("start", "classify", "stuck").size() == 4;
  });

  flow.open("deliver");
  eventually("every ready thread is delivered", 20s, [&] {
    return database.value("select count(*) from pgflow.runs where status = 'completed'") == "20";
  });
  CHECK(flow.noted("end", "classify", "stuck").empty());
  CHECK(flow.noted("start", "classify", "stuck").size() == 4);  // never more than max_concurrent

  flow.open("classify");
  eventually("all runs are completed", 20s, [&] {
    return database.value("select count(*) from pgflow.runs where status = 'completed'") == "28";
  });
}

TEST_CASE("the supervisor stops with nothing left behind", "[e2e]") {
  Supervised flow;
  flow.start(R"({"key": "last", "route": "help"})");
  eventually("the run is completed", 20s, [&] {
    return flow.database().value("select count(*) from pgflow.runs where status = 'completed'") ==
           "1";
  });
  std::set<pid_t> pids;
  for (const auto& line : flow.ledger()) {
    pids.insert(line.pid);
  }
  CHECK(flow.stop() == 0);
  for (const pid_t pid : pids) {
    CHECK(kill(pid, 0) == -1);
  }
  CHECK(
      flow.database().value("select count(*) from pgflow.workers where stopped_at is null") == "0"
  );
  CHECK(
      flow.database().value(
          "select count(*) from pg_stat_activity where application_name like 'pgflow%'"
          " and datname = current_database() and pid <> pg_backend_pid()"
      ) == "0"
  );
}

TEST_CASE("workers log as the config file says", "[e2e]") {
  const Supervised flow(1, R"("log": {"format": "json", "level": "debug"})");
  flow.start(R"({"key": "one", "route": "help"})");
  eventually("the run is completed", 20s, [&] {
    return flow.database().value("select count(*) from pgflow.runs where status = 'completed'") ==
           "1";
  });
  // A worker says it once the database has confirmed it.
  eventually("both workers have told of their task", 20s, [&] {
    std::istringstream lines(flow.supervisor().err());
    std::size_t of_workers = 0;
    for (std::string line; std::getline(lines, line);) {
      if (line.find(R"("component":"worker")") != std::string::npos &&
          line.find(R"("event":"task.ended")") != std::string::npos)
        ++of_workers;
    }
    return of_workers == 2;
  });
  std::istringstream lines(flow.supervisor().err());
  for (std::string line; std::getline(lines, line);) {
    if (lines.eof()) break;  // it is still being written
    CAPTURE(line);
    CHECK(line.starts_with("{\"ts\":"));
  }
}
