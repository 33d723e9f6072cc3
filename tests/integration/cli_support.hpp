// What the tests of pgflow's verbs share: the program run to its end, and a flow in a database of
// its own.
#pragma once

#include <algorithm>
#include <pgflow/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/database.hpp"
#include "support/eventually.hpp"
#include "support/process.hpp"

namespace pgflow::test {

struct Ended {
  int exit_code = -1;
  std::string out;
  std::string err;
};

using Variables = std::vector<std::pair<std::string, std::string>>;

// Nothing of the tester's own surroundings names a database or paints. Unset, not empty: libpq
// tells the two apart.
inline Command pgflow_command(
    const std::vector<std::string>& arguments, const Variables& more = {}
) {
  Command command{.arguments = {"/usr/bin/env"}, .environment = more};
  for (const std::string name :
       {"DATABASE_URL",
        "EDGE_WORKER_DB_URL",
        "PGHOST",
        "PGHOSTADDR",
        "PGPORT",
        "PGUSER",
        "PGSERVICE",
        "PGDATABASE",
        "PGFLOW_CONFIG",
        "PGFLOW_DATA_DIR",
        "PGFLOW_LOG_LEVEL",
        "CLICOLOR_FORCE",
        "NO_COLOR"}) {
    const bool given =
        std::ranges::any_of(more, [&](const auto& variable) { return variable.first == name; });
    if (!given) command.arguments.insert(command.arguments.end(), {"-u", name});
  }
  command.arguments.emplace_back(PGFLOW_BIN_DIR "/pgflow");
  command.arguments.insert(command.arguments.end(), arguments.begin(), arguments.end());
  return command;
}

inline Ended run_pgflow(const std::vector<std::string>& arguments, const Variables& more = {}) {
  Process process(pgflow_command(arguments, more));
  const auto exit_code = process.wait(60s);
  REQUIRE(exit_code.has_value());
  return {*exit_code, process.out(), process.err()};
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// communityThreads: classify, then deliverSlack if the route is help. One attempt each; no workers
// but those that a test writes down.
class FlowDatabase {
 public:
  static constexpr const char* kWorker = "00000000-0000-4000-8000-000000000001";

  FlowDatabase() { compile("communityThreads", "step"); }

  void compile(const std::string& flow, const std::string& mode) const {
    const std::string common =
        R"("stepType":"single","whenUnmet":"skip","whenExhausted":"fail","forbiddenInputPattern":{"defined":false},)"
        R"("options":{"maxAttempts":1})";
    database_.value(
        "select pgflow.ensure_flow_compiled('" + flow +
        R"(', '{"steps":[{"slug":"classify","dependencies":[],)"
        R"("requiredInputPattern":{"defined":false},)" +
        common +
        R"(},{"slug":"deliverSlack","dependencies":["classify"],)"
        R"("requiredInputPattern":{"defined":true,"value":{"classify":{"route":"help"}}},)" +
        common + R"(}]}', ')" + mode + "')"
    );
  }

  std::string url() const { return database_.url(); }
  const Database* operator->() const { return &database_; }

  // A live worker of one step, seen `age` ago for the last time.
  void worker(const std::string& id, const std::string& step, const std::string& age = "0 seconds")
      const {
    database_.value(
        "select pgflow.register_worker('" + id + "', " + queue(step) + ", 'communityThreads/" +
        step + "', 'process', 4711, 'here', 'r1')"
    );
    database_.value(
        "update pgflow.workers set last_heartbeat_at = clock_timestamp() - interval '" + age +
        "', started_at = clock_timestamp() - interval '1 hour' where worker_id = '" + id + "'"
    );
  }
  // Claims every waiting task of a step and settles it with this output.
  void complete(const std::string& step, const std::string& output) const {
    settle(step, "complete_tasks", R"("output":)" + output);
  }
  void fail(const std::string& step, const std::string& error) const {
    settle(step, "fail_tasks", R"("error":")" + error + "\"");
  }

  Ended ask(std::vector<std::string> arguments) const {
    arguments.insert(arguments.end(), {"-d", url()});
    return run_pgflow(arguments);
  }
  // The one run that `pgflow run start` makes.
  std::string start(const std::string& input) const {
    const Ended started = ask({"run", "start", "communityThreads", "--input", input});
    REQUIRE(started.exit_code == 0);
    return started.out.substr(0, started.out.find('\n'));
  }

 private:
  static std::string queue(const std::string& step) {
    return "(select queue_name from pgflow.steps where flow_slug = 'communityThreads' and "
           "step_slug = '" +
           step + "')";
  }
  void settle(const std::string& step, const std::string& function, const std::string& member)
      const {
    worker(kWorker, step);
    database_.value(
        "update pgflow.workers set queue_name = " + queue(step) + " where worker_id = '" + kWorker +
        "'"
    );
    for (const auto& task : database_.rows(
             "select run_id, step_slug, task_index, attempt from pgflow.read_and_claim(" +
             queue(step) + ", 'communityThreads', '" + step + "', '" + kWorker +
             "', 100) where outcome = 'claimed'"
         )) {
      const std::string item = R"([{"run_id":")" + task[0] + R"(","step_slug":")" + task[1] +
                               R"(","task_index":)" + task[2] + R"(,"attempt":)" + task[3] + "," +
                               member + "}]";
      database_.value(
          "select outcome from pgflow." + function + "('" + item + "', '" + kWorker + "')"
      );
    }
  }

  Database database_;
};

}  // namespace pgflow::test
