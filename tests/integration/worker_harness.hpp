// What the tests of real workers share: the probe program, its ledger, runs of its flow.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "support/database.hpp"
#include "support/eventually.hpp"
#include "support/process.hpp"

namespace pgflow::test {

// A database, a ledger, and worker processes of the flow probeV1 (programs/worker_probe.cpp).
class ProbeBench {
 public:
  explicit ProbeBench(const Server& server = Server::shared())
      : database("pgflow_template", server) {}

  std::unique_ptr<Process> start(
      std::vector<std::string> arguments = {"--step", "work"},
      std::vector<std::pair<std::string, std::string>> environment = {},
      std::vector<std::pair<int, int>> descriptors = {}
  ) const {
    arguments.insert(arguments.begin(), PGFLOW_BIN_DIR "/worker_probe");
    environment.insert(
        environment.begin(), {{"DATABASE_URL", database.url()}, {"PROBE_LEDGER", ledger_path()}}
    );
    return std::make_unique<Process>(Command{arguments, environment, descriptors});
  }

  // Started, registered and polling.
  std::unique_ptr<Process> start_ready(
      std::vector<std::string> arguments = {"--step", "work"},
      std::vector<std::pair<std::string, std::string>> environment = {}
  ) const {
    auto worker = start(std::move(arguments), std::move(environment));
    eventually("the worker is ready", 10s, [&] { return said(*worker, "worker.ready"); });
    return worker;
  }

  static bool said(const Process& worker, const std::string& text) {
    return worker.err().find(text) != std::string::npos;
  }

  // A run of probeV1; its id. `wait` and `ignore` wait for open_gate().
  std::string run(const std::string& act, const std::string& tag = "t") const {
    return run_with(
        R"({"act":")" + act + R"(","tag":")" + tag + R"(","file":")" + gate_path() + "\"}"
    );
  }
  std::string run_with(const std::string& input) const {
    return database.value("select run_id from pgflow.start_flow('probeV1', '" + input + "')");
  }
  void open_gate() const { Process({{"/usr/bin/touch", gate_path()}}).wait(5s); }

  // A column of the run's task of step `work`.
  std::string task(const std::string& run_id, const std::string& column) const {
    return database.value(
        "select " + column + " from pgflow.step_tasks where step_slug = 'work' and run_id = '" +
        run_id + "'"
    );
  }
  std::string run_status(const std::string& run_id) const {
    return database.value("select status from pgflow.runs where run_id = '" + run_id + "'");
  }
  void await_task(
      const std::string& run_id, const std::string& status, std::chrono::milliseconds limit = 10s
  ) const {
    eventually("the task is " + status, limit, [&] { return task(run_id, "status") == status; });
  }
  // A worker has looked into its queue, found nothing, and waits.
  void await_idle_look() const {
    eventually("the worker has looked", 10s, [&] {
      return database.value(
                 "select count(*) from pg_stat_activity where datname = current_database() and "
                 "state = 'idle' and query like '%read_and_claim%'"
             ) == "1";
    });
  }
  // Retries wait by policy; tests do not.
  void make_visible() const {
    database.rows("update pgmq.q_probev1__work set vt = clock_timestamp()");
  }

  std::string ledger() const { return read_file(ledger_path()); }
  bool noted(const std::string& line) const {
    return ("\n" + ledger()).find("\n" + line + "\n") != std::string::npos;
  }
  int count_noted(const std::string& start) const {
    int count = 0;
    const std::string text = "\n" + ledger();
    for (std::size_t at = 0; (at = text.find("\n" + start, at)) != std::string::npos; ++at) ++count;
    return count;
  }

  std::string ledger_path() const { return folder.path() + "/ledger"; }
  std::string gate_path() const { return folder.path() + "/gate"; }

  Database database;
  TemporaryFolder folder;
};

}  // namespace pgflow::test
