// A command step's handler: which command, how it is spoken to, how it is ended.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <pgflow/shape.hpp>

namespace pgflow::worker {

struct CommandEnvironment {
  std::string name;
  std::string value;      // itself, or
  bool from_env = false;  // the name of a variable of ours
};

struct Command {
  enum class Output {
    json,   // one value on stdout
    array,  // the same, and it must be an array
    none,   // stdout is for the log
  };

  std::vector<std::string> arguments;  // [0] is the program's absolute path
  std::string folder;                  // absolute
  std::vector<CommandEnvironment> environment{};
  Output output = Output::json;
  std::chrono::milliseconds grace{5'000};  // from TERM to KILL
  // Persistent: the longest silence about a task.
  std::optional<std::chrono::milliseconds> heartbeat{};
};

// Makes the command the step's handler.
void set_process_per_task(StepDefinition& step, Command command);
void set_persistent(StepDefinition& step, Command command);

}  // namespace pgflow::worker
