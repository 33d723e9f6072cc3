// Calls a command step's handler as the worker does, without worker and database.
#pragma once

#include <dirent.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <future>
#include <iterator>
#include <mutex>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/eventually.hpp"
#include "support/process.hpp"
#include "worker/command.hpp"
#include "worker/step_runner.hpp"

namespace pgflow::test {

class LinesOf : public Logger {
 public:
  void write(Level level, std::string_view message, const std::vector<LogField>& fields) override {
    static constexpr const char* kWords[] = {"debug", "info", "warn", "error"};
    std::string line = std::string(kWords[static_cast<int>(level)]) + " " + std::string(message);
    for (const LogField& field : fields) line += " " + std::string(field.key) + "=" + field.value;
    const std::lock_guard lock(mutex_);
    lines_.push_back(line);
  }
  std::vector<std::string> lines() const {
    const std::lock_guard lock(mutex_);
    return lines_;
  }
  bool has(const std::string& line) const {
    const auto all = lines();
    return std::find(all.begin(), all.end(), line) != all.end();
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
};

inline std::vector<std::string> shell(const std::string& script) {
  return {"/bin/sh", "-c", script};
}

// One step with a command; calls may run side by side.
class CommandStep {
 public:
  enum class Mode { process_per_task, persistent };

  explicit CommandStep(worker::Command command, Mode mode = Mode::process_per_task) {
    if (command.folder.empty()) command.folder = "/";
    step_.slug = "stepOne";
    if (mode == Mode::persistent) {
      worker::set_persistent(step_, std::move(command));
    } else {
      worker::set_process_per_task(step_, std::move(command));
    }
  }
  explicit CommandStep(std::vector<std::string> arguments)
      : CommandStep(worker::Command{.arguments = std::move(arguments), .folder = "/"}) {}

  worker::StepOutcome run(const std::string& input = "{}") {
    worker::TaskStop stop;
    return run(input, stop);
  }
  worker::StepOutcome run(const std::string& input, const worker::TaskStop& stop) {
    const detail::Resources none;
    worker::LazyResources resources(none);
    return worker::run_step(
        {.step = step_,
         .task = task,
         .input = input,
         .flow_input = flow_input,
         .timeout = std::chrono::seconds(3),
         .deadline = std::chrono::steady_clock::now() + std::chrono::seconds(3),
         .stop = stop,
         .log = log},
        resources
    );
  }

  StepDefinition& definition() { return step_; }

  TaskInfo task{
      .flow_slug = "flowOne",
      .run_id = "0b5c51ae-6c0e-4d8e-b0ae-7f1d6a1f5a55",
      .step_slug = "stepOne",
      .task_index = 4,
      .msg_id = 9007199254740993,
      .queue_name = "flowone__stepone",
      .worker_id = "9c6c1d4e-0000-4000-8000-000000000001",
      .attempt = 2,
      .max_attempts = 3
  };
  std::string flow_input;
  LinesOf log;

 private:
  StepDefinition step_;
};

inline std::string completed(const worker::StepOutcome& outcome) {
  INFO(outcome.text);
  REQUIRE(outcome.kind == worker::StepOutcome::Kind::completed);
  return outcome.text;
}
inline std::string failure(const worker::StepOutcome& outcome) {
  INFO(outcome.text);
  REQUIRE(outcome.kind == worker::StepOutcome::Kind::failed);
  return outcome.text;
}

inline int open_descriptors() {
  int count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
    ++count;
  return count;
}
// Of this process's first thread: where orphans and zombies would be seen.
inline std::string children() {
  const std::string self = std::to_string(getpid());
  return read_file("/proc/" + self + "/task/" + self + "/children");
}
inline bool is_alive(const std::string& pid) {
  return std::filesystem::exists("/proc/" + pid);
}
inline std::string trimmed(std::string text) {
  text.erase(text.find_last_not_of(" \n") + 1);
  return text;
}

}  // namespace pgflow::test
