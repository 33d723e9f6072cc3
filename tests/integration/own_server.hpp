// A PostgreSQL server of a test's own.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/database.hpp"
#include "support/process.hpp"

namespace pgflow::test {

using namespace std::chrono_literals;

// For tests that crash it, fill it, or make it a standby.
class OwnServer {
 public:
  explicit OwnServer(std::vector<std::pair<std::string, std::string>> environment = {}) {
    cluster({"start", env_file(), PGFLOW_INSTALL_SQL}, std::move(environment));
  }
  ~OwnServer() { cluster({"stop", env_file()}); }
  OwnServer(const OwnServer&) = delete;
  OwnServer& operator=(const OwnServer&) = delete;

  Server address() const { return Server::from_env_file(env_file()); }
  void crash() const { cluster({"crash", env_file()}); }
  void resume() const { cluster({"resume", env_file()}); }
  // A standby that serves readers, or nobody, until it is promoted.
  void demote(bool readable = true) const {
    cluster({"demote", env_file(), readable ? "on" : "off"});
  }
  void promote() const { cluster({"promote", env_file()}); }

 private:
  std::string env_file() const { return folder_.path() + "/cluster.env"; }
  static void cluster(
      std::vector<std::string> arguments,
      std::vector<std::pair<std::string, std::string>> environment = {}
  ) {
    arguments.insert(arguments.begin(), PGFLOW_SOURCE_DIR "/tests/support/cluster");
    Process process({.arguments = std::move(arguments), .environment = std::move(environment)});
    const auto code = process.wait(60s);
    INFO(process.err());
    REQUIRE(code == 0);
  }

  TemporaryFolder folder_;
};

}  // namespace pgflow::test
