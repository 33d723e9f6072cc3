// What the tests of the supervisor share: a database, a state folder, and supervisors whose workers
// are tests/integration/programs/fake_worker.
#pragma once

#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/database.hpp"
#include "support/eventually.hpp"
#include "support/process.hpp"

namespace pgflow::test {

using namespace std::chrono_literals;

inline constexpr auto kSoon = 20s;

// Not so a zombie: a container's first process may never reap it.
inline bool alive(int pid) {
  const std::string stat = read_file("/proc/" + std::to_string(pid) + "/stat");
  const auto name_end = stat.rfind(')');
  return name_end != std::string::npos && stat.substr(name_end + 2, 1) != "Z";
}

struct Started {
  std::string step;
  int pid = 0;
  std::string worker_id;
};

struct Plan {
  std::string fake = "good";  // what the workers of pool a do
  std::string url{};          // empty: the rig's own database
  std::string supervisor = R"("kill_margin": "1s", "max_parallel_starts": 4)";
  std::string defaults = R"("restart": {"base": "50ms", "max": "200ms"})";
  std::string steps = R"("a": {"processes": 1, "max_concurrent": 4}, "b": {})";
  std::string program = PGFLOW_BIN_DIR "/fake_worker";
};

// A database, a state folder, and supervisors that share them.
class Rig {
 public:
  explicit Rig(Plan plan = {}) : plan_(std::move(plan)) { write_config(); }
  ~Rig() {
    supervisor_.reset();
    for (const auto& worker : started()) {
      if (alive(worker.pid)) kill(worker.pid, SIGKILL);
    }
  }

  Process& start(std::vector<std::pair<int, int>> descriptors = {}) {
    return start_with({}, std::move(descriptors));
  }
  // Through another program, which runs the rest of its arguments.
  Process& start_with(
      std::vector<std::string> through,
      std::vector<std::pair<int, int>> descriptors = {},
      const std::vector<std::string>& more = {}
  ) {
    through.insert(through.end(), {PGFLOW_BIN_DIR "/pgflow", "up", "-c", config()});
    through.insert(through.end(), more.begin(), more.end());
    supervisor_.emplace(Command{
        .arguments = std::move(through),
        .environment =
            {{"DATABASE_URL", plan_.url.empty() ? database.url() : plan_.url},
             {"FAKE_WORKER", plan_.fake},
             {"FAKE_LEDGER", path("ledger")}},
        .descriptors = std::move(descriptors)
    });
    return *supervisor_;
  }
  Process& supervisor() { return *supervisor_; }
  void change(const std::string& fake) { plan_.fake = fake; }
  void change_supervisor(const std::string& supervisor) {
    plan_.supervisor = supervisor;
    write_config();
  }
  void change_defaults(const std::string& defaults) {
    plan_.defaults = defaults;
    write_config();
  }

  const std::string& folder() const { return folder_.path(); }
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }
  std::string config() const { return path("pgflow.json"); }
  std::string journal() const { return read_file(path("state/releases.jsonl")); }

  // Every start of a worker so far.
  std::vector<Started> started(const std::string& step = "") const {
    std::istringstream lines(read_file(path("ledger")));
    std::vector<Started> all;
    for (Started one; lines >> one.step >> one.pid >> one.worker_id;) {
      if (step.empty() || one.step == step) all.push_back(one);
    }
    return all;
  }
  bool said(const std::string& text) const {
    return supervisor_->err().find(text) != std::string::npos;
  }
  std::size_t times_said(const std::string& text) const {
    const std::string all = supervisor_->err();
    std::size_t times = 0;
    for (auto at = all.find(text); at != std::string::npos; at = all.find(text, at + 1)) ++times;
    return times;
  }
  void wait_ready(std::size_t workers = 2) {
    eventually("all workers are ready", kSoon, [&] {
      return times_said("worker.ready") >= workers;
    });
  }
  Started wait_start(const std::string& step, std::size_t count) {
    eventually("start " + std::to_string(count) + " of " + step, kSoon, [&] {
      return started(step).size() >= count;
    });
    return started(step)[count - 1];
  }

  // Runs of the flow, so that a has that many tasks.
  void give_tasks(int count) const {
    database.rows(
        "select pgflow.start_flow('fake', '{}') from generate_series(1, " + std::to_string(count) +
        ")"
    );
  }
  std::string tasks(const std::string& what) const {
    return database.value("select " + what + " from pgflow.step_tasks where step_slug = 'a'");
  }
  std::string running_workers() const {
    return database.value("select count(*) from pgflow.workers where stopped_at is null");
  }

  void check_nothing_left() {
    for (const auto& worker : started()) {
      CAPTURE(worker.step, worker.pid);
      CHECK_FALSE(alive(worker.pid));
    }
    INFO(supervisor_->err());
    CHECK(journal().empty());
    CHECK(running_workers() == "0");
    for (const auto& lock : std::filesystem::directory_iterator(path("state/slots"))) {
      CHECK(read_file(lock.path()).find_first_not_of(" \n") == std::string::npos);
    }
  }

  Database database;

 private:
  void write_config() const {
    std::ofstream(config()) << "{\"version\": 1,\n"
                            << R"("supervisor": {"state_dir": "state", )"
                            << R"("log": {"level": "debug", "format": "simple"}, )"
                            << plan_.supervisor << "},\n\"defaults\": {" << plan_.defaults << "},\n"
                            << "\"flows\": [{\"slug\": \"fake\", \"worker\": {\"command\": [\""
                            << plan_.program << "\"]},\n\"steps\": {" << plan_.steps << "}}]}\n";
  }

  Plan plan_;
  TemporaryFolder folder_;
  std::optional<Process> supervisor_;
};

}  // namespace pgflow::test
