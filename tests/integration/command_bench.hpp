// What the tests of real command steps share: a flow file, its worker, runs of the flow.
#pragma once

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "support/database.hpp"
#include "support/eventually.hpp"
#include "support/process.hpp"

namespace pgflow::test {

// The step `work` runs the shell script that its input, a JSON string, holds.
inline constexpr const char* kScripts = R"(
  {"slug": "work", "handler": {"command": ["/bin/sh", "-c", "eval \"$(sed 's/^\"//;s/\"$//')\""], "grace": "300ms"}})";

// Processes whose environment holds that entry, or one that starts so when it ends with "=" or ".".
inline std::vector<std::string> processes_with(const std::string& entry) {
  std::vector<std::string> pids;
  for (const auto& process : std::filesystem::directory_iterator("/proc")) {
    const std::string pid = process.path().filename();
    if (pid.find_first_not_of("0123456789") != std::string::npos) continue;
    const std::string environment = std::string(1, '\0') + read_file("/proc/" + pid + "/environ");
    if (environment.find(std::string(1, '\0') + entry) != std::string::npos) pids.push_back(pid);
  }
  return pids;
}

class CommandBench {
 public:
  // The flow shellV1 with these steps; attempts end after 3 s, the second is the last.
  explicit CommandBench(const std::string& steps) {
    std::ofstream(path("flow.json")) << R"({"pgflow": 1, "slug": "shellV1", "queueMode": "step",
      "maxAttempts": 2, "baseDelay": 1, "timeout": 3, "steps": [)"
                                     << steps << "]}";
  }

  const std::string& folder() const { return folder_.path(); }
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }

  // Started, registered and polling.
  std::unique_ptr<Process> start(const std::string& step, std::vector<std::string> more = {})
      const {
    return start_with({}, step, std::move(more));
  }
  // Through another program, which runs the rest of its arguments.
  std::unique_ptr<Process> start_with(
      const std::vector<std::string>& through,
      const std::string& step,
      std::vector<std::string> more = {}
  ) const {
    more.insert(
        more.begin(),
        {PGFLOW_BIN_DIR "/pgflow-worker", path("flow.json"), "--pgflow-worker", "--step", step}
    );
    more.insert(more.begin(), through.begin(), through.end());
    auto worker = std::make_unique<Process>(Command{more, {{"DATABASE_URL", database.url()}}});
    eventually("the worker is ready", 20s, [&] {
      return worker->err().find("worker.ready") != std::string::npos;
    });
    return worker;
  }

  // What stands in the environment of every process that the worker's commands started.
  static std::string mark_of(const Process& worker) {
    return "PGFLOW_CHILD_ID=" + std::to_string(worker.pid()) + ".";
  }
  static std::vector<std::string> processes_of(const Process& worker) {
    return processes_with(mark_of(worker));
  }

  // A run; its id. The script may hold neither quotes nor backslashes.
  std::string run(const std::string& script) const { return run_with("\"" + script + "\""); }
  std::string run_with(const std::string& input) const {
    return database.value("select run_id from pgflow.start_flow('shellV1', '" + input + "')");
  }

  // A column of the run's task.
  std::string task(const std::string& run_id, const std::string& column) const {
    return database.value(
        "select " + column + " from pgflow.step_tasks where run_id = '" + run_id + "'"
    );
  }
  std::string run_status(const std::string& run_id) const {
    return database.value("select status from pgflow.runs where run_id = '" + run_id + "'");
  }
  void await_task(const std::string& run_id, const std::string& status) const {
    eventually("the task is " + status, 20s, [&] { return task(run_id, "status") == status; });
  }
  // Retries wait by policy; tests do not.
  void make_visible() const {
    database.rows("update pgmq.q_shellv1__work set vt = clock_timestamp()");
  }

  Database database;

 private:
  TemporaryFolder folder_;
};

}  // namespace pgflow::test
