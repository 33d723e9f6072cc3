// The lifecycle of runs, steps, tasks and messages as the specification tells it, in memory: what
// the database is compared with. It knows nothing of the SQL.
#pragma once

#include <compare>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "json.hpp"

namespace pgflow::test {

struct StepDefinition {
  std::string slug;
  bool is_map = false;
  std::vector<std::size_t> deps{};  // indexes of earlier steps
  std::optional<Json> required{}, forbidden{};
  std::string when_unmet = "skip";
  std::string when_exhausted = "fail";
  int max_attempts = 1;
  int base_delay = 0;
  int start_delay = 0;
};

struct FlowDefinition {
  std::string slug;  // lower case
  bool step_queues = false;
  std::vector<StepDefinition> steps;

  std::string queue(std::size_t step) const {
    return step_queues ? slug + "__" + steps[step].slug : slug;
  }
  bool has_root_map() const;
  std::vector<std::size_t> children(std::size_t step) const;
};

struct Task {
  std::string status = "queued";
  int attempts = 0;
  int requeued = 0;
  int crashes = 0;
  bool stalled = false;  // for good
  bool silent = false;   // its worker has been silent for longer than the stall threshold
  bool in_queue = true;  // else its message is archived
  bool visible = true;   // its message
  std::optional<std::string> worker, error;
  std::optional<Json> output;
  long message = 0;  // learnt from the database
  bool is_open() const { return status == "queued" || status == "started"; }
};

struct StepState {
  std::string status = "created";
  int remaining_deps = 0;
  std::optional<int> initial_tasks, remaining_tasks;
  std::optional<Json> output;
  std::optional<std::string> error, skip_reason;
  std::vector<Task> tasks;
};

struct Run {
  std::string flow;
  std::string status = "started";
  Json input{};
  std::optional<Json> output{};
  int remaining_steps = 0;
  std::vector<StepState> steps{};
};

struct TaskKey {
  std::string run;
  std::size_t step = 0;
  std::size_t index = 0;
  auto operator<=>(const TaskKey&) const = default;
};

struct Settlement {
  TaskKey task;
  std::optional<int> attempt{};  // the fence, if any
  std::optional<Json> output{};  // of a completion
  std::string error{};           // of a failure
  bool permanent = false;        // of a failure: no retry
};

struct Event {
  std::string run, name;
  auto operator<=>(const Event&) const = default;
};

class Lifecycle {
 public:
  std::map<std::string, FlowDefinition> flows;
  std::map<std::string, Run> runs;
  std::vector<Event> events;  // since somebody cleared them

  const FlowDefinition& flow_of(const Run& run) const { return flows.at(run.flow); }
  const Task* find(const TaskKey& key) const;
  // Run and step are started, so that the task's status counts.
  bool is_live(const TaskKey& key) const;

  void start(const std::string& id, const std::string& flow, const Json& input);
  void claim(const TaskKey& key, const std::string& worker);
  // What a claim returns for the task.
  std::optional<Json> input_of(const TaskKey& key) const;
  std::optional<Json> flow_input_of(const TaskKey& key) const;

  // Several together: all tasks are settled before their runs go on. True for those that counted.
  std::vector<bool> complete(
      const std::vector<Settlement>& items, const std::optional<std::string>& worker
  );
  std::vector<bool> fail(
      const std::vector<Settlement>& items, const std::optional<std::string>& worker
  );

  void requeue_stalled(const TaskKey& key);
  void release(const TaskKey& key);
  // An operator's: a task that stalled for good gets another message, a run ends.
  void requeue_by_hand(const TaskKey& key);
  void cancel(const std::string& id, const std::string& reason);
  void remove_flow(const std::string& slug);

  // One line for each run, step and task, to be compared.
  std::map<std::string, std::string> lines(const std::vector<std::string>& of_runs) const;

 private:
  bool holds(const Settlement& item, const std::optional<std::string>& worker) const;
  Task& task(const TaskKey& key) { return runs.at(key.run).steps[key.step].tasks[key.index]; }
  void tell_step(const std::string& id, std::size_t step);
  void end_step(const std::string& id, std::size_t step);
  void carry_on(const std::string& id);
  bool judge_conditions(const std::string& id);
  bool complete_taskless(const std::string& id);
  void skip(const std::string& id, std::size_t step, const std::string& reason);
  void skip_with_dependents(const std::string& id, std::size_t step, const std::string& reason);
  void fail_run(const std::string& id, std::size_t step, const std::string& error, bool run_first);
  void exhaust(const Settlement& item);
  Json dependency_outputs(const Run& run, std::size_t step) const;
};

}  // namespace pgflow::test
