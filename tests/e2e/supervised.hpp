// `pgflow up` with the ledger flow, on a database of its own; what the end-to-end tests share.
#pragma once

#include <csignal>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/database.hpp"
#include "support/eventually.hpp"
#include "support/process.hpp"

namespace pgflow::test {

inline std::string program(const std::string& name) {
  return std::string(PGFLOW_BIN_DIR) + "/" + name;
}

struct LedgerLine {
  std::string event, step, key;
  int attempt = 0;
  pid_t pid = 0;
};

class Supervised {
 public:
  // Compiles the flow and starts the pools; ready when both steps have a live worker.
  explicit Supervised(
      int classify_at_once = 4, const std::string& more = R"("log": {"level": "info"})"
  ) {
    const std::string config = folder_.path() + "/pgflow.json";
    std::ofstream(config) << R"({
      "version": 1,
      "supervisor": {"state_dir": "state", )"
                          << more << R"(},
      "defaults": {"restart": {"base": "1ms", "max": "20ms", "budget": {"crashes": 1000}}},
      "flows": [{
        "slug": "communityThreadsV1",
        "queue_mode": "step",
        "worker": {"command": [")"
                          << program("e2e_threads") << R"("], "env": {"E2E_FOLDER": ")"
                          << folder_.path() << R"("}},
        "steps": {
          "classify": {"processes": 1, "max_concurrent": )"
                          << classify_at_once << R"(},
          "deliverSlack": {"processes": 1, "max_concurrent": 1}
        }
      }]
    })";
    supervisor_ = std::make_unique<Process>(Command{
        .arguments = {program("pgflow"), "up", "-c", config},
        .environment = {{"DATABASE_URL", database_.url()}},
    });
    eventually("both steps are covered", 30s, [&] {
      require_alive();
      return database_.value("select to_regprocedure('pgflow.route_coverage(text)') is not null") ==
                 "t" &&
             database_.value("select count(*) from pgflow.route_coverage() where covered") == "2";
    });
  }

  ~Supervised() {
    if (supervisor_->running()) {
      INFO("supervisor's log:\n" << supervisor_->err());
      CHECK(stop() == 0);
    }
  }

  const Process& supervisor() const { return *supervisor_; }

  int stop() {
    supervisor_->signal(SIGTERM);
    const auto code = supervisor_->wait(40s);
    REQUIRE(code);
    return *code;
  }

  void require_alive() {
    if (!supervisor_->running()) {
      FAIL("the supervisor ended:\n" << supervisor_->err());
    }
  }

  std::string start(const std::string& message) const {
    return database_.value(
        "select run_id from pgflow.start_flow('communityThreadsV1', '" + message + "'::jsonb)"
    );
  }

  void open(const std::string& gate) const {
    std::ofstream(folder_.path() + "/open." + gate) << "open\n";
  }

  std::vector<LedgerLine> ledger() const {
    std::vector<LedgerLine> lines;
    std::istringstream text(read_file(folder_.path() + "/ledger"));
    for (LedgerLine line;
         text >> line.event >> line.step >> line.key >> line.attempt >> line.pid;) {
      lines.push_back(line);
    }
    return lines;
  }

  // How often `event step key` stands in the ledger, for keys that start with `prefix`.
  std::map<std::string, int> noted(
      const std::string& event, const std::string& step, const std::string& prefix
  ) const {
    std::map<std::string, int> count;
    for (const auto& line : ledger()) {
      if (line.event == event && line.step == step && line.key.starts_with(prefix)) {
        ++count[line.key];
      }
    }
    return count;
  }

  const Database& database() const { return database_; }
  std::string log() const { return supervisor_->err(); }

 private:
  TemporaryFolder folder_;
  Database database_;
  std::unique_ptr<Process> supervisor_;
};

}  // namespace pgflow::test
