// A flow without C++ under the supervisor: a file, scripts, and the programs that come with pgflow.
#include <signal.h>

#include <fstream>

#include "e2e/supervised.hpp"
#include "integration/command_bench.hpp"

using namespace pgflow::test;

namespace {

// `pgflow up` beside a flow file; PATH does not know our programs.
class SupervisedCommands {
 public:
  explicit SupervisedCommands(const std::string& steps, const std::string& pools) {
    write_flow(steps);
    std::ofstream(path("pgflow.json")) << R"({
      "version": 1,
      "supervisor": {"state_dir": "state", "shutdown_deadline": "1s", "kill_margin": "10s"},
      "defaults": {"restart": {"max": "1s"}},
      "flows": [{
        "slug": "shellV1",
        "worker": {"command": ["pgflow-worker", "flow.json"]},
        "steps": )" << pools << "}]}";
    supervisor_ = std::make_unique<Process>(Command{
        .arguments = {program("pgflow"), "up", "-c", path("pgflow.json")},
        .environment = {{"DATABASE_URL", database.url()}, {"PATH", "/usr/bin:/bin"}},
    });
    eventually("every step is covered", 40s, [&] {
      if (!supervisor_->running()) FAIL("the supervisor ended:\n" << supervisor_->err());
      return database.value("select to_regprocedure('pgflow.route_coverage(text)') is not null") ==
                 "t" &&
             database.value("select count(*) > 0 and bool_and(covered) from pgflow.route_coverage()"
             ) == "t";
    });
  }

  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }

  void write_flow(const std::string& steps) const {
    std::ofstream(path("flow.json")) << R"({"pgflow": 1, "slug": "shellV1", "queueMode": "step",
      "steps": [)" << steps << "]}";
  }
  bool said(const std::string& words) const {
    return supervisor_->err().find(words) != std::string::npos;
  }

  std::string start(const std::string& input) const {
    return database.value("select run_id from pgflow.start_flow('shellV1', '" + input + "')");
  }
  // Of the only worker.
  std::string worker_id() const { return database.value("select worker_id from pgflow.workers"); }
  void kill_worker() const {
    kill(std::stoi(database.value("select pid from pgflow.workers")), SIGKILL);
  }

  int stop() {
    supervisor_->signal(SIGTERM);
    const auto code = supervisor_->wait(40s);
    INFO(supervisor_->err());
    REQUIRE(code);
    return *code;
  }

  Database database;

 private:
  TemporaryFolder folder_;
  std::unique_ptr<Process> supervisor_;
};

}  // namespace

TEST_CASE("pgflow up runs a flow of commands", "[e2e][commands]") {
  SupervisedCommands flow(
      R"x({"slug": "words", "type": "array", "handler": {"command": ["cat"]}},
         {"slug": "length", "type": "map", "array": "words",
          "handler": {"command": ["sh", "-c", "tr -d '\"\\n' | wc -c"]}},
         {"slug": "total", "dependsOn": ["length"],
          "handler": {"command": ["sh", "-c", "echo $((`tr -dc 0-9, | tr , +`))"]
}
},
         {"slug": "cheer", "dependsOn": ["total"], "if": {"total": 6},
          "handler": {"command": ["sh", "-c", "echo hooray"], "output": "none"}})x",
      R"({"words": {}, "length": {"max_concurrent": 2}, "total": {}, "cheer": {}})"
  );
  const std::string run = flow.start(R"(["a", "bb", "ccc"])");
  eventually("the run is completed", 30s, [&] {
    return flow.database.value("select status from pgflow.runs where run_id = '" + run + "'") ==
           "completed";
  });
  CHECK(
      flow.database.value(
          "select string_agg(step_slug || '=' || output, ' ' order by step_slug, task_index)"
          " from pgflow.step_tasks"
      ) == R"(cheer=null length=1 length=2 length=3 total=6 words=["a", "bb", "ccc"])"
  );
  CHECK(flow.stop() == 0);
}

TEST_CASE("a command that outlives the drain is killed, its task given back", "[e2e][commands]") {
  SupervisedCommands flow(
      R"({"slug": "work", "handler": {"command": ["sh", "-c",
          "trap : TERM; setsid sleep 300 & echo up > up; while :; do sleep 0.1; done"], "grace": "300ms"}})",
      R"({"work": {}})"
  );
  const std::string run = flow.start("{}");
  eventually("the command runs", 20s, [&] { return read_file(flow.path("up")) == "up\n"; });
  const std::string worker = flow.worker_id();
  CHECK(processes_with("PGFLOW_WORKER_ID=" + worker).size() >= 2);
  CHECK(flow.stop() == 0);
  CHECK(
      flow.database.value("select status || ' ' || attempts_count from pgflow.step_tasks") ==
      "queued 0"
  );
  CHECK(processes_with("PGFLOW_WORKER_ID=" + worker).empty());
}

TEST_CASE("what a killed worker's commands left is found and ended", "[e2e][commands]") {
  SupervisedCommands flow(
      R"x({"slug": "work", "handler": {"command": ["sh", "-c",
          "setsid sleep 300 & (setsid sleep 300 &); echo up > up; sleep 300"]}})x",
      R"({"work": {}})"
  );
  flow.start("{}");
  eventually("the command runs", 20s, [&] { return read_file(flow.path("up")) == "up\n"; });
  const std::string worker = flow.worker_id();
  CHECK(processes_with("PGFLOW_WORKER_ID=" + worker).size() >= 4);
  flow.kill_worker();
  eventually("nothing is left of it", 5s, [&] {
    return processes_with("PGFLOW_WORKER_ID=" + worker).empty();
  });
}

TEST_CASE(
    "a flow file that changes under a supervisor costs no run and no pool", "[e2e][commands]"
) {
  const std::string steps = R"({"slug": "work", "handler": {"command": ["cat"]}})";
  SupervisedCommands flow(steps, R"({"work": {}})");
  // A developer's database, where ensure_flow_compiled drops what differs.
  flow.database.value(
      "do $$ begin execute format('alter database %I set pgflow.environment = local',"
      " current_database()); end $$"
  );
  const std::string first = flow.start("1");
  const auto status = [&](const std::string& run) {
    return flow.database.value("select status from pgflow.runs where run_id = '" + run + "'");
  };
  eventually("it has run", 20s, [&] { return status(first) == "completed"; });

  const auto [changed, complaint] = GENERATE_REF(table<std::string, std::string>({
      {steps + R"(, {"slug": "more", "handler": {"command": ["cat"]}})",
       "in the database has another shape than this program."},
      {"{", "exit_code=65"},
  }));
  CAPTURE(changed);
  flow.write_flow(changed);
  flow.kill_worker();
  eventually("the next worker complains", 20s, [&] { return flow.said(complaint); });
  CHECK(status(first) == "completed");
  CHECK_FALSE(flow.said("pool.failed"));

  flow.write_flow(steps);
  const std::string second = flow.start("2");
  eventually("the file is right again, and so is the pool", 20s, [&] {
    return status(second) == "completed";
  });
}
