#include "lifecycle.hpp"

#include <algorithm>
#include <cmath>
#include <set>

namespace pgflow::test {
namespace {

void archive(Task& task) {
  task.in_queue = false;
}

void close(StepState& step, const std::string& status) {
  for (Task& task : step.tasks) {
    if (!task.is_open()) continue;
    task.status = status;
    archive(task);
  }
}

std::string text_or_dash(const std::optional<Json>& value) {
  return value ? value->text() : "-";
}
std::string text_or_dash(const std::optional<std::string>& value) {
  return value ? *value : "-";
}
std::string text_or_dash(const std::optional<int>& value) {
  return value ? std::to_string(*value) : "-";
}

}  // namespace

bool FlowDefinition::has_root_map() const {
  return std::any_of(steps.begin(), steps.end(), [](const StepDefinition& step) {
    return step.is_map && step.deps.empty();
  });
}

std::vector<std::size_t> FlowDefinition::children(std::size_t step) const {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (std::count(steps[i].deps.begin(), steps[i].deps.end(), step)) found.push_back(i);
  }
  return found;
}

const Task* Lifecycle::find(const TaskKey& key) const {
  const auto run = runs.find(key.run);
  if (run == runs.end() || key.step >= run->second.steps.size()) return nullptr;
  const auto& tasks = run->second.steps[key.step].tasks;
  return key.index < tasks.size() ? &tasks[key.index] : nullptr;
}

bool Lifecycle::is_live(const TaskKey& key) const {
  const Run& run = runs.at(key.run);
  return run.status == "started" && run.steps[key.step].status == "started";
}

void Lifecycle::start(const std::string& id, const std::string& flow, const Json& input) {
  const FlowDefinition& definition = flows.at(flow);
  Run run{
      .flow = flow, .input = input, .remaining_steps = static_cast<int>(definition.steps.size())
  };
  for (const StepDefinition& step : definition.steps) {
    StepState& state = run.steps.emplace_back();
    state.remaining_deps = static_cast<int>(step.deps.size());
    if (!step.is_map) {
      state.initial_tasks = 1;
    } else if (step.deps.empty()) {
      state.initial_tasks = static_cast<int>(input.items.size());
    }
  }
  runs[id] = std::move(run);
  events.push_back({id, "run:started"});
  carry_on(id);
}

void Lifecycle::claim(const TaskKey& key, const std::string& worker) {
  Task& claimed = task(key);
  claimed.status = "started";
  claimed.attempts += 1;
  claimed.worker = worker;
  claimed.silent = false;
  claimed.visible = false;
}

std::optional<Json> Lifecycle::input_of(const TaskKey& key) const {
  const Run& run = runs.at(key.run);
  const StepDefinition& step = flow_of(run).steps[key.step];
  if (!step.is_map) return dependency_outputs(run, key.step);
  const Json& array = step.deps.empty() ? run.input : *run.steps[step.deps.front()].output;
  return array.items[key.index];
}

std::optional<Json> Lifecycle::flow_input_of(const TaskKey& key) const {
  const Run& run = runs.at(key.run);
  const StepDefinition& step = flow_of(run).steps[key.step];
  if (step.is_map || !step.deps.empty()) return std::nullopt;
  return run.input;
}

Json Lifecycle::dependency_outputs(const Run& run, std::size_t step) const {
  Json::Members members;
  for (const std::size_t dep : flow_of(run).steps[step].deps) {
    const StepState& state = run.steps[dep];
    if (state.status == "completed")
      members[flow_of(run).steps[dep].slug] = state.output.value_or(Json{});
  }
  return Json::object(std::move(members));
}

void Lifecycle::tell_step(const std::string& id, std::size_t step) {
  const Run& run = runs.at(id);
  events.push_back({id, "step:" + flow_of(run).steps[step].slug + ":" + run.steps[step].status});
}

// A step has just completed or been skipped: its run and its dependents count it off.
void Lifecycle::end_step(const std::string& id, std::size_t step) {
  Run& run = runs.at(id);
  const FlowDefinition& flow = flow_of(run);
  const StepState& ended = run.steps[step];
  run.remaining_steps -= 1;
  for (const std::size_t child : flow.children(step)) {
    StepState& state = run.steps[child];
    if (state.status != "created") continue;
    state.remaining_deps -= 1;
    if (!flow.steps[child].is_map || state.initial_tasks) continue;
    if (ended.status == "skipped") {
      state.initial_tasks = 0;
    } else {
      state.initial_tasks = static_cast<int>(ended.output->items.size());
    }
  }
}

// Conditions, then steps without tasks, until neither is left; then what is ready starts, or the
// run is complete.
void Lifecycle::carry_on(const std::string& id) {
  Run& run = runs.at(id);
  const FlowDefinition& flow = flow_of(run);
  do {
    while (judge_conditions(id)) {
    }
    if (run.status != "started") return;
  } while (complete_taskless(id));

  for (std::size_t i = 0; i < run.steps.size(); ++i) {
    StepState& state = run.steps[i];
    if (state.status != "created" || state.remaining_deps > 0) continue;
    state.status = "started";
    state.remaining_tasks = state.initial_tasks;
    state.tasks.resize(static_cast<std::size_t>(*state.initial_tasks));
    for (Task& task : state.tasks) task.visible = flow.steps[i].start_delay == 0;
    tell_step(id, i);
  }
  if (run.remaining_steps > 0) return;
  run.status = "completed";
  Json::Members output;
  for (std::size_t i = 0; i < run.steps.size(); ++i) {
    if (flow.children(i).empty() && run.steps[i].status == "completed")
      output[flow.steps[i].slug] = run.steps[i].output.value_or(Json{});
  }
  if (!output.empty()) run.output = Json::object(std::move(output));
  events.push_back({id, "run:completed"});
}

// One wave of ready steps. True when something was skipped, so that others may be ready now.
bool Lifecycle::judge_conditions(const std::string& id) {
  Run& run = runs.at(id);
  if (run.status != "started") return false;
  const FlowDefinition& flow = flow_of(run);
  std::map<std::string, std::vector<std::size_t>> unmet;
  for (std::size_t i = 0; i < run.steps.size(); ++i) {
    const StepDefinition& step = flow.steps[i];
    if (run.steps[i].status != "created" || run.steps[i].remaining_deps > 0) continue;
    const Json value = step.deps.empty() ? run.input : dependency_outputs(run, i);
    const bool met = (!step.required || value.contains(*step.required)) &&
                     !(step.forbidden && value.contains(*step.forbidden));
    if (!met) unmet[step.when_unmet].push_back(i);
  }
  if (!unmet["fail"].empty()) {
    fail_run(id, unmet["fail"].front(), "Condition not met", false);
    return false;
  }
  for (const std::size_t step : unmet["skip"]) {
    skip(id, step, "condition_unmet");
    end_step(id, step);
  }
  for (const std::size_t step : unmet["skip-cascade"])
    skip_with_dependents(id, step, "condition_unmet");
  return !unmet["skip"].empty() || !unmet["skip-cascade"].empty();
}

bool Lifecycle::complete_taskless(const std::string& id) {
  Run& run = runs.at(id);
  std::vector<std::size_t> ready;
  for (std::size_t i = 0; i < run.steps.size(); ++i) {
    const StepState& state = run.steps[i];
    if (state.status == "created" && state.remaining_deps == 0 && state.initial_tasks == 0)
      ready.push_back(i);
  }
  for (const std::size_t i : ready) {
    StepState& state = run.steps[i];
    state.status = "completed";
    state.remaining_tasks = 0;
    state.output = Json::array({});
    tell_step(id, i);
    end_step(id, i);
  }
  return !ready.empty();
}

void Lifecycle::skip(const std::string& id, std::size_t step, const std::string& reason) {
  StepState& state = runs.at(id).steps[step];
  state.status = "skipped";
  state.skip_reason = reason;
  state.remaining_tasks.reset();
  close(state, "skipped");
  tell_step(id, step);
}

void Lifecycle::skip_with_dependents(
    const std::string& id, std::size_t step, const std::string& reason
) {
  Run& run = runs.at(id);
  const FlowDefinition& flow = flow_of(run);
  std::set<std::size_t> doomed{step};
  for (std::size_t i = step + 1; i < flow.steps.size(); ++i) {
    const auto& deps = flow.steps[i].deps;
    if (std::any_of(deps.begin(), deps.end(), [&](std::size_t dep) {
          return doomed.contains(dep);
        }))
      doomed.insert(i);
  }
  for (const std::size_t i : doomed) {
    const std::string& status = run.steps[i].status;
    if (status != "created" && status != "started") continue;
    skip(id, i, i == step ? reason : "dependency_skipped");
    run.remaining_steps -= 1;
  }
}

void Lifecycle::fail_run(
    const std::string& id, std::size_t step, const std::string& error, bool run_first
) {
  Run& run = runs.at(id);
  run.status = "failed";
  run.steps[step].status = "failed";
  run.steps[step].error = error;
  if (run_first) events.push_back({id, "run:failed"});
  tell_step(id, step);
  if (!run_first) events.push_back({id, "run:failed"});
  for (StepState& state : run.steps) close(state, "cancelled");
}

bool Lifecycle::holds(const Settlement& item, const std::optional<std::string>& worker) const {
  const Task* found = find(item.task);
  return found && is_live(item.task) && found->status == "started" &&
         (!worker || found->worker == worker) && (!item.attempt || found->attempts == item.attempt);
}

std::vector<bool> Lifecycle::complete(
    const std::vector<Settlement>& items, const std::optional<std::string>& worker
) {
  std::vector<bool> applied(items.size());
  std::vector<std::size_t> violations;
  std::map<std::string, std::set<std::size_t>> touched;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const Settlement& item = items[i];
    if (!holds(item, worker)) continue;
    Run& run = runs.at(item.task.run);
    const FlowDefinition& flow = flow_of(run);
    const auto children = flow.children(item.task.step);
    const bool is_array = item.output && item.output->kind == Json::Kind::array;
    if (!flow.steps[item.task.step].is_map && !is_array &&
        std::any_of(children.begin(), children.end(), [&](std::size_t child) {
          return flow.steps[child].is_map && !run.steps[child].initial_tasks;
        })) {
      violations.push_back(i);
      continue;
    }
    Task& done = task(item.task);
    done.status = "completed";
    done.output = item.output;
    archive(done);
    *run.steps[item.task.step].remaining_tasks -= 1;
    touched[item.task.run].insert(item.task.step);
    applied[i] = true;
  }

  for (const auto& [id, steps] : touched) {
    Run& run = runs.at(id);
    bool any_ended = false;
    for (const std::size_t i : steps) {
      StepState& state = run.steps[i];
      if (state.remaining_tasks != 0) continue;
      any_ended = true;
      state.status = "completed";
      if (flow_of(run).steps[i].is_map) {
        std::vector<Json> outputs;
        for (const Task& task : state.tasks) outputs.push_back(task.output.value_or(Json{}));
        state.output = Json::array(std::move(outputs));
      } else {
        state.output = state.tasks.front().output;
      }
      tell_step(id, i);
      end_step(id, i);
    }
    if (any_ended) carry_on(id);
  }

  for (const std::size_t i : violations) {
    const Settlement& item = items[i];
    if (!holds(item, worker)) continue;
    applied[i] = true;
    const FlowDefinition& flow = flow_of(runs.at(item.task.run));
    const std::string type = item.output ? item.output->type() : "null";
    Task& guilty = task(item.task);
    guilty.status = "failed";
    guilty.output = item.output;
    guilty.error = "[TYPE_VIOLATION] Produced " + type + " instead of array";
    archive(guilty);
    const auto children = flow.children(item.task.step);
    const auto map = std::find_if(children.begin(), children.end(), [&](std::size_t child) {
      return flow.steps[child].is_map;
    });
    fail_run(
        item.task.run,
        item.task.step,
        "[TYPE_VIOLATION] Map step " + flow.steps[*map].slug +
            " expects array input but dependency " + flow.steps[item.task.step].slug +
            " produced " + type,
        true
    );
  }
  return applied;
}

std::vector<bool> Lifecycle::fail(
    const std::vector<Settlement>& items, const std::optional<std::string>& worker
) {
  std::vector<bool> applied(items.size());
  std::vector<std::size_t> exhausted;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const Settlement& item = items[i];
    if (!holds(item, worker)) continue;
    const StepDefinition& step = flow_of(runs.at(item.task.run)).steps[item.task.step];
    Task& failed = task(item.task);
    if (item.permanent || failed.stalled || failed.attempts >= step.max_attempts) {
      exhausted.push_back(i);
      continue;
    }
    failed.status = "queued";
    failed.error = item.error;
    failed.visible = std::floor(step.base_delay * std::pow(2, failed.attempts)) == 0;
    applied[i] = true;
  }
  std::sort(exhausted.begin(), exhausted.end(), [&](std::size_t a, std::size_t b) {
    return items[a].task < items[b].task;
  });
  for (const std::size_t i : exhausted) {
    if (!holds(items[i], worker)) continue;
    exhaust(items[i]);
    applied[i] = true;
  }
  return applied;
}

void Lifecycle::exhaust(const Settlement& item) {
  const auto& [id, step, index] = item.task;
  const std::string& policy = flow_of(runs.at(id)).steps[step].when_exhausted;
  Task& failed = task(item.task);
  failed.status = "failed";
  failed.error = item.error;
  archive(failed);
  if (policy == "fail") {
    fail_run(id, step, item.error, false);
    return;
  }
  runs.at(id).steps[step].error = item.error;
  if (policy == "skip") {
    skip(id, step, "handler_failed");
    end_step(id, step);
  } else {
    skip_with_dependents(id, step, "handler_failed");
  }
  carry_on(id);
}

void Lifecycle::requeue_stalled(const TaskKey& key) {
  Task& stalled = task(key);
  if (stalled.requeued == 3) {
    stalled.stalled = true;
    archive(stalled);
    return;
  }
  stalled.requeued += 1;
  stalled.status = "queued";
  stalled.worker.reset();
  stalled.silent = false;
  stalled.visible = true;
}

void Lifecycle::release(const TaskKey& key) {
  Task& released = task(key);
  released.status = "queued";
  released.attempts -= 1;
  released.worker.reset();
  released.silent = false;
  released.visible = true;
}

void Lifecycle::requeue_by_hand(const TaskKey& key) {
  Task& stalled = task(key);
  stalled.status = "queued";
  stalled.requeued = 0;
  stalled.stalled = false;
  stalled.silent = false;
  stalled.worker.reset();
  stalled.in_queue = true;
  stalled.visible = true;
  stalled.message = 0;
}

void Lifecycle::cancel(const std::string& id, const std::string& reason) {
  Run& run = runs.at(id);
  if (run.status != "started") return;
  run.status = "failed";
  events.push_back({id, "run:failed"});
  for (StepState& step : run.steps) {
    for (Task& task : step.tasks) {
      if (task.is_open()) task.error = reason;
    }
    close(step, "cancelled");
  }
}

void Lifecycle::remove_flow(const std::string& slug) {
  flows.erase(slug);
  std::erase_if(runs, [&](const auto& entry) { return entry.second.flow == slug; });
}

std::map<std::string, std::string> Lifecycle::lines(const std::vector<std::string>& of_runs) const {
  std::map<std::string, std::string> lines;
  for (const std::string& id : of_runs) {
    const auto found = runs.find(id);
    if (found == runs.end()) continue;
    const Run& run = found->second;
    lines[id] = run.status + ", steps left " + std::to_string(run.remaining_steps) + ", output " +
                text_or_dash(run.output);
    for (std::size_t i = 0; i < run.steps.size(); ++i) {
      const StepState& state = run.steps[i];
      const std::string name = id + " " + flow_of(run).steps[i].slug;
      lines[name] = state.status + ", deps left " + std::to_string(state.remaining_deps) +
                    ", tasks " + text_or_dash(state.initial_tasks) + ", tasks left " +
                    (state.status == "failed" ? "-" : text_or_dash(state.remaining_tasks)) +
                    ", output " + text_or_dash(state.output) + ", error " +
                    text_or_dash(state.error) + ", reason " + text_or_dash(state.skip_reason);
      for (std::size_t index = 0; index < state.tasks.size(); ++index) {
        const Task& task = state.tasks[index];
        lines[name + " " + std::to_string(index)] =
            task.status + ", attempts " + std::to_string(task.attempts) + ", requeued " +
            std::to_string(task.requeued) + ", crashes " + std::to_string(task.crashes) +
            (task.stalled ? ", stalled" : "") + ", worker " + text_or_dash(task.worker) +
            ", error " + text_or_dash(task.error) + ", output " + text_or_dash(task.output) +
            ", message " +
            (!task.in_queue ? "archived"
             : task.visible ? "visible"
                            : "hidden");
      }
    }
  }
  return lines;
}

}  // namespace pgflow::test
