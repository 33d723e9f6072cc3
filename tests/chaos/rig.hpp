// A supervisor and its workers under chaos, and the oracle: a ledger that the handlers wrote
// themselves.
#pragma once

#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "integration/own_server.hpp"
#include "support/catch.hpp"
#include "support/eventually.hpp"
#include "support/process.hpp"
#include "support/sql_session.hpp"

namespace pgflow::test {

using Nanoseconds = long long;

Nanoseconds monotonic_now();
bool is_alive(int pid);
int count_descriptors(int pid);

// CHAOS_ROUNDS, else the short form that every test run does.
int rounds(int in_short);

// Milliseconds; prints the 50th and 99th percentile and the worst, under the name.
void print_percentiles(const std::string& name, std::vector<double> milliseconds);

struct Worker {
  int pid = 0;
  std::string worker_id;
  std::string step;
};

class Rig {
 public:
  // `classify` and `deliver` are the pools as the config file says them.
  explicit Rig(
      const Server& server = Server::shared(),
      std::string classify = R"({"processes": 2, "max_concurrent": 4})",
      std::string deliver = R"({"processes": 1, "max_concurrent": 1})"
  );
  // Whatever still runs is killed.
  ~Rig();

  void start_supervisor(const std::vector<std::pair<std::string, std::string>>& environment = {});
  Process& supervisor() { return *supervisor_; }
  // SIGKILL, and reaped.
  void kill_supervisor();
  // A supervisor of its own beside the rig's, on the same folder.
  std::unique_ptr<Process> rival() const;

  // The answer of `pgflow ARGUMENTS…`; fails unless it exits 0.
  std::string pgflow(std::vector<std::string> arguments) const;

  void give_runs(int count);
  // Whose first handler computes for so long and waits for nobody.
  void give_burning_runs(int count, int milliseconds);
  // Those that have a process and have said READY.
  std::vector<Worker> workers() const;
  Worker some_worker();
  void wait_workers(std::size_t count) const;
  // SIGKILL; its handlers' executions end here.
  void kill_worker(const Worker& worker);
  // Its executions end with it, whenever that was.
  // Of everybody who is gone by now.
  void note_deaths();
  void note_death(int pid) { deaths_[pid] = monotonic_now(); }

  int random(int below) { return static_cast<int>(dice_() % static_cast<unsigned>(below)); }

  // Every run completes; then the oracle: nothing lost, nothing twice at the same time, no attempt
  // that was not deserved.
  void finish_and_judge(std::chrono::milliseconds limit);
  // TERM to the supervisor; 0, and nothing of it is left.
  void stop_and_look();
  bool said(const std::string& text) const {
    return supervisor_->err().find(text) != std::string::npos;
  }
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }

  Database database;

 private:
  void write_config(const std::string& classify, const std::string& deliver) const;
  Command command(const std::vector<std::pair<std::string, std::string>>& environment = {}) const;
  void judge_ledger() const;

  TemporaryFolder folder_;
  std::optional<Process> supervisor_;
  std::map<int, Nanoseconds> deaths_;
  std::mt19937 dice_;
};

}  // namespace pgflow::test
