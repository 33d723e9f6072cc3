// pgflow::main behind its templates: reads the command line, plays one role, reports what went
// wrong.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

#include <pgflow/main.hpp>

#include "base/did_you_mean.hpp"
#include "base/exit_code.hpp"
#include "base/standard_fds.hpp"
#include "worker/command_tree.hpp"
#include "worker/environment.hpp"
#include "worker/handler_sql.hpp"
#include "worker/step_runner.hpp"

namespace pgflow::detail {
namespace {

constexpr const char* kHelp = R"(A pgflow worker program.

  --pgflow-describe [FLOW]      print the flow's manifest as JSON, one line a flow; no database
  --pgflow-worker               serve the flow until told to stop (--step alone means this too)
      --flow FLOW               which flow, when the program has several
      --step STEP               which step, when the flow has step queues
      --max-concurrent N        handlers at once (default 10)
  --pgflow-invoke STEP          run one handler: its input is JSON on stdin, its output JSON on stdout
      --flow FLOW               as above
      --flow-input FILE         the run's input as JSON, for handlers that take FlowInput
  --help                        this text

The database of a worker, and of a handler that takes Sql&, is DATABASE_URL, or what libpq's own
variables name.
Exit codes: 0 done or drained, 64 wrong arguments, 65 unusable flow definition or input,
70 internal error, also a handler that throws.
)";

// A wrong command line.
struct UsageError : Exception {
  UsageError(std::string message, std::string detail, std::string hint)
      : Exception({"usage", std::move(message), std::move(detail), std::move(hint)}) {}
};

// An input that does not fit the handler, or an output that has no JSON form.
struct DataError : Exception {
  using Exception::Exception;
};

enum class Role { none, help, describe, worker, invoke };

struct CommandLine {
  Role role = Role::none;
  std::optional<std::string> flow;
  std::optional<std::string> step;
  std::optional<std::string> flow_input;
  WorkerConfig config;
};

int parse_count(const std::string& name, const std::string& text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 1) {
    throw UsageError(name + " needs a number of at least 1, got \"" + text + "\".", "", "");
  }
  return value;
}

class CommandLineReader {
 public:
  CommandLineReader(int argc, const char* const* argv)
      : words_(argv + (argc > 0 ? 1 : 0), argv + argc) {}

  CommandLine read() {
    while (next_ < words_.size()) {
      read_one(words_[next_++]);
    }
    if (read_.role == Role::none) {
      throw UsageError("Nothing to do.", "", "--help lists what this program can do.");
    }
    return std::move(read_);
  }

 private:
  void read_one(const std::string& name) {
    if (name == "--help" || name == "-h") {
      read_.role = Role::help;
    } else if (name == "--pgflow-describe") {
      play(Role::describe);
      if (next_ < words_.size() && !words_[next_].starts_with("-")) {
        read_.flow = words_[next_++];
      }
    } else if (name == "--pgflow-worker") {
      play(Role::worker);
    } else if (name == "--pgflow-invoke") {
      play(Role::invoke);
      read_.step = value(name);
    } else if (name == "--flow") {
      read_.flow = value(name);
    } else if (name == "--step") {
      play(Role::worker);
      read_.step = value(name);
    } else if (name == "--max-concurrent") {
      read_.config.max_concurrent = parse_count(name, value(name));
    } else if (name == "--flow-input") {
      read_.flow_input = value(name);
    } else {
      const std::vector<std::string> known = {
          "--pgflow-describe",
          "--pgflow-worker",
          "--pgflow-invoke",
          "--flow",
          "--step",
          "--max-concurrent",
          "--flow-input",
          "--help"
      };
      const std::string meant = did_you_mean_hint(name, known);
      throw UsageError(
          "Unknown argument \"" + name + "\".",
          "",
          meant.empty() ? "--help lists the arguments." : meant
      );
    }
  }

  void play(Role role) {
    if (read_.role != Role::none && read_.role != role && read_.role != Role::help) {
      throw UsageError(
          "These arguments ask for two things at once.",
          "",
          "Use one of --pgflow-describe, --pgflow-worker and --pgflow-invoke."
      );
    }
    read_.role = read_.role == Role::help ? Role::help : role;
  }

  std::string value(const std::string& name) {
    if (next_ == words_.size()) {
      throw UsageError(name + " needs a value.", "", "--help shows how it is used.");
    }
    return words_[next_++];
  }

  std::vector<std::string> words_;
  std::size_t next_ = 0;
  CommandLine read_;
};

const ProgramFlow& choose_flow(
    const std::vector<ProgramFlow>& flows, const std::optional<std::string>& slug
) {
  std::vector<std::string> known;
  std::string list = "Flows:";
  for (const ProgramFlow& flow : flows) {
    known.push_back(flow.definition->slug);
    list += (known.size() == 1 ? " " : ", ") + known.back();
  }
  list += ".";
  if (!slug && flows.size() == 1) {
    return flows.front();
  }
  if (!slug) {
    throw UsageError("This program has several flows.", list, "Choose one with --flow.");
  }
  for (const ProgramFlow& flow : flows) {
    if (flow.definition->slug == *slug) {
      return flow;
    }
  }
  throw UsageError(
      "This program has no flow \"" + *slug + "\".", list, did_you_mean_hint(*slug, known)
  );
}

void print(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  if (std::fflush(stdout) != 0) {
    throw std::runtime_error("cannot write to standard output");
  }
}

// ---- Roles
void describe(const std::vector<ProgramFlow>& flows, const std::optional<std::string>& slug) {
  std::string lines;  // all or nothing: a half description must not be taken for a whole one
  const auto add = [&lines](const ProgramFlow& flow) {
    lines += manifest(*flow.definition, flow.routes ? QueueMode::step : QueueMode::flow) + "\n";
  };
  if (slug) {
    add(choose_flow(flows, slug));
  } else {
    for (const ProgramFlow& flow : flows) {
      add(flow);
    }
  }
  print(lines);
}

// The handler's log lines, for a person.
class StderrLogger : public Logger {
 public:
  void write(Level level, std::string_view message, const std::vector<LogField>& fields) override {
    static constexpr const char* kWords[] = {"debug", "info", "warn", "error"};
    std::string line = std::string(kWords[static_cast<int>(level)]) + ": " + std::string(message);
    for (const LogField& field : fields) {
      line += " " + std::string(field.key) + "=" + field.value;
    }
    std::fprintf(stderr, "%s\n", line.c_str());
  }
};

std::string read_all(std::istream& in) {
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::string read_flow_input(const StepDefinition& step, const std::optional<std::string>& path) {
  if (!path) {
    throw UsageError(
        "The handler of step \"" + step.slug + "\" asks for the run's input.",
        "",
        "Give it with --flow-input FILE."
    );
  }
  std::ifstream file(*path, std::ios::binary);
  if (!file) {
    throw UsageError("Cannot read the file \"" + *path + "\".", "", "");
  }
  return read_all(file);
}

const StepDefinition& find_step(const FlowDefinition& flow, const std::string& slug) {
  std::vector<std::string> known;
  for (const auto& step : flow.steps) {
    if (step->slug == slug) {
      return *step;
    }
    known.push_back(step->slug);
  }
  throw StepSelectionError(StepSelectionError::Reason::unknown, flow.slug, slug, known);
}

// In words, for somebody who calls a handler by hand.
std::string shape_of_input(const StepDefinition& step) {
  if (step.kind == StepKind::map) return "one element of the array";
  if (step.depends_on.empty()) return "the flow's input";
  std::string outputs;
  for (const std::string& dependency : step.depends_on) {
    outputs += (outputs.empty() ? "\"" : ", \"") + dependency + "\": …";
  }
  return "the outputs of its dependencies, {" + outputs + "}";
}

// A command by hand: what Ctrl-C does not reach must end all the same. The second one waits for
// nothing.
std::shared_ptr<worker::TaskStop> stop_on_signals() {
  auto stop = std::make_shared<worker::TaskStop>();
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::thread([stop, signals] {
    int signal = 0;
    sigwait(&signals, &signal);
    stop->request(StopReason::shutdown);
    sigwait(&signals, &signal);
    worker::kill_all_commands();
    ::_exit(number(ExitCode::killed_by_signal) + signal);
  }).detach();
  return stop;
}

void invoke(const FlowDefinition& flow, const CommandLine& line, Resources lent) {
  const StepDefinition& step = find_step(flow, *line.step);
  if (std::ranges::find(step.needs, type_name<Sql>()) != step.needs.end()) {
    auto database = find_database("");
    if (!database) throw Exception(std::move(database).error());
    lent.each_thread.push_back(handler_sql(std::move(*database), "pgflow-invoke"));
  }
  const std::string input = read_all(std::cin);
  const TaskInfo task{
      .flow_slug = flow.slug,
      .run_id = "00000000-0000-0000-0000-000000000000",
      .step_slug = step.slug,
      .queue_name = "",
      .worker_id = ""
  };
  StderrLogger log;
  const ThreadResources resources(lent);
  Call call;
  call.input = input;
  call.load_flow_input = [&] {
    // A command is handed it, wanted or not.
    const bool may_lack = step.handler_kind != HandlerKind::native && !line.flow_input;
    return may_lack ? std::string() : read_flow_input(step, line.flow_input);
  };
  call.task = &task;
  call.deadline = std::chrono::steady_clock::time_point::max();
  call.log = &log;
  call.resources = &resources.bound();
  std::shared_ptr<worker::TaskStop> stop;
  if (step.handler_kind != HandlerKind::native) {
    stop = stop_on_signals();
    call.stop = stop->token();
    call.stop_reason = &stop->live_reason();
  }
  try {
    print(step.invoke(step.handler.get(), call) + "\n");
  } catch (const JsonError& e) {
    Error error = e.error();
    error.hint = "stdin takes what the step gets: " + shape_of_input(step) + ".";
    throw DataError(std::move(error));
  }
}

int work(const ProgramFlow& flow, CommandLine line, Resources resources) {
  WorkerPlan plan = plan_worker(
      flow.definition,
      flow.routes ? &*flow.routes : nullptr,
      std::move(line.step),
      std::move(line.config),
      std::move(resources)
  );
  claim_process();
  return run_worker(std::move(plan));
}

// ---- Errors
int report(const Error& error, ExitCode code) {
  std::fprintf(stderr, "error: %s\n", error.message.c_str());
  if (!error.detail.empty()) {
    std::fprintf(stderr, "detail: %s\n", error.detail.c_str());
  }
  if (!error.hint.empty()) {
    std::fprintf(stderr, "hint: %s\n", error.hint.c_str());
  }
  return number(code);
}

int play(CommandLine line, const std::vector<ProgramFlow>& flows, Resources resources) {
  if (line.role == Role::describe) {
    describe(flows, line.flow);
    return number(ExitCode::ok);
  }
  const ProgramFlow& flow = choose_flow(flows, line.flow);
  if (line.role == Role::invoke) {
    invoke(*flow.definition, line, std::move(resources));
    return number(ExitCode::ok);
  }
  return work(flow, std::move(line), std::move(resources));
}

}  // namespace

int run_program(
    int argc,
    const char* const* argv,
    const std::function<std::vector<ProgramFlow>()>& make,
    Resources resources
) {
  open_missing_standard_fds();
  try {
    CommandLine line = CommandLineReader(argc, argv).read();
    if (line.role == Role::help) {
      print(kHelp);
      return number(ExitCode::ok);
    }
    return play(std::move(line), make(), std::move(resources));
  } catch (const FlowError& e) {
    return report(e.error(), ExitCode::bad_definition);
  } catch (const DataError& e) {
    return report(e.error(), ExitCode::bad_definition);
  } catch (const StepSelectionError& e) {
    return report(e.error(), ExitCode::usage);
  } catch (const UsageError& e) {
    return report(e.error(), ExitCode::usage);
  } catch (const Exception& e) {
    return report(e.error(), ExitCode::internal);
  } catch (const std::exception& e) {
    return report({"internal", e.what()}, ExitCode::internal);
  } catch (...) {
    return report(
        {"internal", "something that is not a std::exception was thrown"}, ExitCode::internal
    );
  }
}

}  // namespace pgflow::detail
