#include "worker/command_environment.hpp"

#include <unistd.h>

#include <cstdlib>
#include <map>
#include <stdexcept>
#include <string_view>

#include "base/clock.hpp"
#include "contract/environment.hpp"

namespace pgflow::worker {
namespace {

using Variables = std::map<std::string, std::string>;

// A command that needs the database says so in its `env`.
bool is_between_others(std::string_view name) {
  return name.starts_with("PGFLOW_") || name == contract::kDatabaseUrlVariable ||
         name == "EDGE_WORKER_DB_URL" || name == "PGPASSWORD";
}

Variables of_step(const TaskInfo& task) {
  Variables variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const auto equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view name = text.substr(0, equals);
    if (!is_between_others(name)) variables[std::string(name)] = text.substr(equals + 1);
  }
  variables["PGFLOW_FLOW"] = task.flow_slug;
  variables["PGFLOW_STEP"] = task.step_slug;
  // A supervisor finds what a dead worker left by this.
  variables[contract::kWorkerIdVariable] = task.worker_id;
  return variables;
}

std::vector<std::string> finished(Variables variables, const Command& command) {
  for (const CommandEnvironment& entry : command.environment) {
    if (!entry.from_env) {
      variables[entry.name] = entry.value;
      continue;
    }
    const char* value = std::getenv(entry.value.c_str());
    if (value == nullptr) {
      throw std::runtime_error(
          "the handler's env asks for the environment variable " + entry.value +
          ", which is not set"
      );
    }
    variables[entry.name] = value;
  }
  std::vector<std::string> environment;
  for (const auto& [name, value] : variables) environment.push_back(name + "=" + value);
  return environment;
}

std::int64_t unix_milliseconds(SteadyClock::time_point time) {
  const auto then =
      WallClock::now() + std::chrono::duration_cast<WallClock::duration>(time - SteadyClock::now());
  return std::chrono::floor<std::chrono::milliseconds>(then.time_since_epoch()).count();
}

}  // namespace

std::vector<std::string> command_environment(const Command& command, const TaskInfo& task) {
  return finished(of_step(task), command);
}

std::vector<std::string> task_environment(const Command& command, const detail::Call& call) {
  const TaskInfo& task = *call.task;
  Variables variables = of_step(task);
  variables["PGFLOW_RUN_ID"] = task.run_id;
  variables["PGFLOW_TASK_INDEX"] = std::to_string(task.task_index);
  variables["PGFLOW_MSG_ID"] = std::to_string(task.msg_id);
  variables["PGFLOW_ATTEMPT"] = std::to_string(task.attempt);
  variables["PGFLOW_MAX_ATTEMPTS"] = std::to_string(task.max_attempts);
  if (call.deadline != SteadyClock::time_point::max()) {
    variables["PGFLOW_DEADLINE_MS"] = std::to_string(unix_milliseconds(call.deadline));
  }
  return finished(std::move(variables), command);
}

}  // namespace pgflow::worker
