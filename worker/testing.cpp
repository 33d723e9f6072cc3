// testing::run, a flow walked in definition order by the rules that the database applies; and
// testing::call, one attempt of one handler.
#include <algorithm>
#include <set>
#include <stdexcept>

#include <pgflow/testing.hpp>

namespace pgflow::testing::detail {
namespace {

using pgflow::detail::Call;
using pgflow::detail::Resources;
using pgflow::detail::ThreadResources;

// What the database takes for options that nobody set.
constexpr int kMaxAttempts = 3;
constexpr std::chrono::seconds kTimeout{60};

constexpr const char* kNoId = "00000000-0000-0000-0000-000000000000";

class Silent : public Logger {
 public:
  void write(Level, std::string_view, const std::vector<LogField>&) override {}
};

class Walk {
 public:
  Walk(const FlowDefinition& flow, const std::string& input, const Resources& resources)
      : flow_(flow), input_(input), resources_(resources) {}

  RunResult run() {
    for (const auto& step : flow_.steps) {
      StepResult result = run_step(*step);
      result.slug = step->slug;
      const bool failed = result.status == Status::failed;
      if (failed) {
        result_.error = result.error;
      }
      result_.steps.push_back(std::move(result));
      if (failed) {
        return std::move(result_);
      }
    }
    result_.completed = true;
    return std::move(result_);
  }

 private:
  StepResult run_step(const StepDefinition& step) {
    if (std::any_of(step.depends_on.begin(), step.depends_on.end(), [&](const std::string& d) {
          return cascading_.contains(d);
        })) {
      return skipped(step, SkipMode::skip_cascade);
    }
    const std::string input = step.depends_on.empty() ? input_ : outputs_of(step.depends_on);
    if (!condition_met(step, input)) {
      if (step.when_unmet == SkipMode::fail) {
        return {.status = Status::failed, .error = "Condition not met"};
      }
      return skipped(step, step.when_unmet);
    }
    StepResult result = step.kind == StepKind::map ? run_map(step) : run_task(step, input, 0);
    if (result.status == Status::failed && step.when_exhausted != SkipMode::fail) {
      StepResult skip = skipped(step, step.when_exhausted);
      skip.error = std::move(result.error);
      skip.attempts = result.attempts;
      return skip;
    }
    return result;
  }

  StepResult skipped(const StepDefinition& step, SkipMode mode) {
    if (mode == SkipMode::skip_cascade) {
      cascading_.insert(step.slug);
    }
    return {.status = Status::skipped};
  }

  // The outputs that are there, as one object; a skipped dependency has no key.
  std::string outputs_of(const std::vector<std::string>& dependencies) const {
    std::string object;
    for (const std::string& dependency : dependencies) {
      if (const StepResult& done = result_.step(dependency); done.status == Status::completed) {
        object += (object.empty() ? "" : ",") + to_json(dependency) + ":" + done.output;
      }
    }
    return "{" + object + "}";
  }

  static bool condition_met(const StepDefinition& step, const std::string& input) {
    return (!step.run_if || json_contains(input, *step.run_if)) &&
           (!step.run_if_not || !json_contains(input, *step.run_if_not));
  }

  StepResult run_map(const StepDefinition& step) {
    StepResult all{.status = Status::completed, .output = "["};
    int index = 0;
    for (const Json& element : elements(step)) {
      StepResult one = run_task(step, element.text, index);
      all.attempts = std::max(all.attempts, one.attempts);
      if (one.status == Status::failed) {
        all.status = Status::failed;
        all.error = std::move(one.error);
        return all;
      }
      all.output += (index == 0 ? "" : ",") + one.output;
      ++index;
    }
    all.output += "]";
    return all;
  }

  // A map over a skipped step has nothing to do.
  std::vector<Json> elements(const StepDefinition& step) const {
    if (step.depends_on.empty()) {
      return from_json<std::vector<Json>>(input_);
    }
    const StepResult& source = result_.step(step.depends_on.front());
    return source.status == Status::completed ? from_json<std::vector<Json>>(source.output)
                                              : std::vector<Json>();
  }

  StepResult run_task(const StepDefinition& step, const std::string& input, int index) {
    StepResult result{.status = Status::failed};
    const int most =
        step.options.max_attempts.value_or(flow_.options.max_attempts.value_or(kMaxAttempts));
    while (result.attempts < most) {
      ++result.attempts;
      const TaskInfo task{
          .flow_slug = flow_.slug,
          .run_id = kNoId,
          .step_slug = step.slug,
          .task_index = index,
          .msg_id = 0,
          .queue_name = "",
          .worker_id = kNoId,
          .attempt = result.attempts,
          .max_attempts = most
      };
      try {
        result.output = step.invoke(step.handler.get(), call_for(step, task, input));
        result.status = Status::completed;
        result.error.clear();
        return result;
      } catch (const PermanentFailure& e) {
        result.error = e.what();
        return result;
      } catch (const std::exception& e) {
        result.error = e.what();
      } catch (...) {
        result.error = "the handler threw something that is not a std::exception";
      }
    }
    return result;
  }

  Call call_for(const StepDefinition& step, const TaskInfo& task, const std::string& input) {
    const auto timeout = step.options.timeout.value_or(flow_.options.timeout.value_or(kTimeout));
    Call call;
    call.input = input;
    call.load_flow_input = [this] { return input_; };
    call.task = &task;
    call.deadline = std::chrono::steady_clock::now() + timeout;
    call.log = &silent_;
    call.resources = &resources_.bound();
    return call;
  }

  const FlowDefinition& flow_;
  const std::string& input_;
  ThreadResources resources_;
  Silent silent_;
  std::set<std::string> cascading_;  // skipped together with their dependents
  RunResult result_;
};

const char* word_of(Status status) {
  switch (status) {
    case Status::completed:
      return "completed";
    case Status::skipped:
      return "was skipped";
    case Status::failed:
      return "failed";
    case Status::not_run:
      return "was not run";
  }
  return "";
}

}  // namespace

std::string call(const FlowDefinition& flow, const OneCall& given, const Resources& resources) {
  const auto found = std::ranges::find(flow.steps, given.step, [](const auto& step) {
    return std::string_view(step->slug);
  });
  const StepDefinition& step = **found;
  const TaskInfo task{
      .flow_slug = flow.slug,
      .run_id = kNoId,
      .step_slug = step.slug,
      .queue_name = "",
      .worker_id = kNoId,
      .attempt = given.attempt,
      .max_attempts = given.max_attempts
  };
  const auto timeout = step.options.timeout.value_or(flow.options.timeout.value_or(kTimeout));
  const ThreadResources mine(resources);
  const std::atomic<StopReason> reason = given.stopped;
  std::stop_source stop;
  if (given.stopped != StopReason::none) stop.request_stop();
  Silent silent;
  Call call;
  call.input = given.input;
  call.load_flow_input = [&] {
    if (given.flow_input) return *given.flow_input;
    if (step.kind == StepKind::single && step.depends_on.empty()) return given.input;
    throw std::logic_error(
        "the handler of step \"" + step.slug + "\" reads the flow's input: give it as .flow_input"
    );
  };
  call.task = &task;
  call.stop = stop.get_token();
  call.stop_reason = &reason;
  call.deadline = std::chrono::steady_clock::now() + timeout;
  call.log = &silent;
  call.resources = &mine.bound();
  return step.invoke(step.handler.get(), call);
}

RunResult run(const FlowDefinition& flow, const std::string& input, const Resources& resources) {
  return Walk(flow, input, resources).run();
}

const StepResult& RunResult::step(std::string_view slug) const {
  static const StepResult not_run;
  const auto found = std::find_if(steps.begin(), steps.end(), [&](const StepResult& result) {
    return result.slug == slug;
  });
  return found == steps.end() ? not_run : *found;
}

const std::string& output_of(const RunResult& run, std::string_view slug) {
  const StepResult& result = run.step(slug);
  if (result.status != Status::completed) {
    throw std::logic_error(
        "step \"" + std::string(slug) + "\" " + word_of(result.status) + ": it has no output" +
        (result.error.empty() ? "" : " (" + result.error + ")")
    );
  }
  return result.output;
}

}  // namespace pgflow::testing::detail
