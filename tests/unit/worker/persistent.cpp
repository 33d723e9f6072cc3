// A command started once for many tasks: the line protocol, and what becomes of those who break it.
#include <fstream>

#include "base/exit_code.hpp"
#include "json/value.hpp"
#include "unit/worker/command_harness.hpp"

using namespace pgflow;
using namespace pgflow::test;
using worker::StepOutcome;
using Kind = worker::StepOutcome::Kind;

namespace {

using Environment = std::vector<worker::CommandEnvironment>;

worker::Command probe(Environment environment = {}) {
  return {
      .arguments = {"/usr/bin/python3", PGFLOW_SOURCE_DIR "/tests/unit/worker/persistent_probe.py"},
      .folder = "/",
      .environment = std::move(environment),
      .grace = std::chrono::milliseconds(500),
  };
}

CommandStep persistent(worker::Command command = probe()) {
  return CommandStep(std::move(command), CommandStep::Mode::persistent);
}
CommandStep persistent(Environment environment) {
  return persistent(probe(std::move(environment)));
}

auto run_beside(CommandStep& step, const std::string& input, const worker::TaskStop& stop) {
  return std::async(std::launch::async, [&step, &stop, input] { return step.run(input, stop); });
}

std::string pid_of(const StepOutcome& outcome) {
  const auto output = json::parse(completed(outcome));
  REQUIRE(output);
  return output->find("pid")->text;
}

}  // namespace

TEST_CASE("a persistent command gets each task as one line, numbers exact", "[persistent]") {
  CommandStep step = persistent();
  const auto output = json::parse(completed(step.run("{\n\"n\": 9007199254740993}")));
  REQUIRE(output);
  const json::Value& task = *output->find("task");
  CHECK(task.find("type")->text == "task");
  CHECK(task.find("flowSlug")->text == "flowOne");
  CHECK(task.find("stepSlug")->text == "stepOne");
  CHECK(task.find("runId")->text == "0b5c51ae-6c0e-4d8e-b0ae-7f1d6a1f5a55");
  CHECK(task.find("taskIndex")->as_int64() == 4);
  CHECK(task.find("attempt")->as_int64() == 2);
  CHECK(task.find("maxAttempts")->as_int64() == 3);
  CHECK(task.find("msgId")->as_string() == "9007199254740993");
  CHECK(task.find("input")->find("n")->text == "9007199254740993");
  CHECK(task.find("timeoutMs")->as_int64() > 1'000);
  CHECK(task.find("flowInput") == nullptr);
}

TEST_CASE("one persistent command serves task after task, and ends with its step", "[persistent]") {
  std::string pid;
  {
    CommandStep step = persistent();
    pid = pid_of(step.run());
    for (int i = 0; i < 20; ++i) CHECK(pid_of(step.run()) == pid);
    CHECK(is_alive(pid));
  }
  CHECK_FALSE(is_alive(pid));
  CHECK(children().empty());
}

TEST_CASE(
    "a command takes as many tasks as it says, and more commands take the rest", "[persistent]"
) {
  CommandStep step = persistent(Environment{{"PROBE_CONCURRENCY", "3"}});
  const worker::TaskStop stop;
  const TemporaryFolder folder;
  const std::string gate = R"({"act":"gate","file":")" + folder.path() + "/gate\"}";
  std::vector<std::future<StepOutcome>> running;
  for (int i = 0; i < 6; ++i) running.push_back(run_beside(step, gate, stop));
  eventually("all six run", 20s, [&] { return step.log.lines().size() == 6; });
  std::ofstream(folder.path() + "/gate") << "open";
  std::map<std::string, int> by_pid;
  for (auto& task : running) ++by_pid[completed(task.get())];
  CHECK(by_pid.size() == 2);
  for (const auto& [pid, count] : by_pid) CHECK(count == 3);
}

TEST_CASE("a step that is no root is sent the run's input too", "[persistent]") {
  StepDefinition definition;
  definition.depends_on = {"first"};
  worker::set_persistent(definition, probe());
  CHECK(definition.needs_flow_input);
  CHECK(definition.stop_grace == std::chrono::milliseconds(500));
  const TaskInfo task;
  LinesOf log;
  detail::Call call;
  call.input = R"({"first":1})";
  call.load_flow_input = [] { return R"({"run":2})"; };
  call.task = &task;
  call.deadline = std::chrono::steady_clock::time_point::max();
  call.log = &log;
  const auto output = json::parse(definition.invoke(definition.handler.get(), call));
  REQUIRE(output);
  CHECK(output->find("task")->find("flowInput")->find("run")->text == "2");
  CHECK(output->find("task")->find("timeoutMs") == nullptr);
}

TEST_CASE("an error line is a failed attempt, with retryable false for good", "[persistent]") {
  CommandStep step = persistent();
  CHECK(failure(step.run(R"({"act":"error","answer":{"message":"busy"}})")) == "busy");
  CHECK(
      failure(step.run(R"({"act":"error","answer":{"message":"busy","retryable":true}})")) == "busy"
  );
  CHECK(failure(step.run(R"({"act":"error","answer":{}})")) == "the command gave no reason");
  const StepOutcome final_one =
      step.run(R"({"act":"error","answer":{"message":"no","retryable":false}})");
  CHECK(final_one.kind == Kind::permanent);
  CHECK(final_one.text == "no");
}

TEST_CASE("log lines carry their fields", "[persistent]") {
  CommandStep step = persistent();
  CHECK(completed(step.run(R"({"act":"log"})")) == "null");
  CHECK(step.log.has("warn hello a=1 b=x"));
}

TEST_CASE("a command that dies fails its tasks, and the next task gets another", "[persistent]") {
  CommandStep step = persistent(Environment{{"PROBE_CONCURRENCY", "2"}});
  const std::string pid = pid_of(step.run());
  const worker::TaskStop stop;
  auto neighbour = run_beside(step, R"({"act":"wait"})", stop);
  const char* why = "died of SIGSEGV, with 2 tasks at once in its hands: last words";
  CHECK(failure(step.run(R"({"act":"die"})")) == why);
  CHECK(failure(neighbour.get()) == why);
  CHECK(pid_of(step.run()) != pid);
  CHECK(failure(step.run(R"({"act":"exit","code":0})")) == "exited with 0");
  CHECK(pid_of(step.run()) != pid);
}

TEST_CASE("a line that breaks the protocol ends the command and fails its tasks", "[persistent]") {
  CommandStep step = persistent();
  const auto [line, text] = GENERATE(table<std::string, std::string>({
      {"debug: here", "broke the protocol: a line of stdout is no JSON object: \"debug: here\""},
      {"[1]", "broke the protocol: a line of stdout is no JSON object: \"[1]\""},
      {R"({\"type\":\"result\",\"id\":\"ID\",\"output\":NaN})", "broke the protocol"},
  }));
  const std::string pid = pid_of(step.run());
  CHECK_THAT(failure(step.run(R"({"act":"raw","line":")" + line + "\"}")), Catch::Contains(text));
  CHECK_FALSE(is_alive(pid));
  CHECK(pid_of(step.run()) != pid);
}

TEST_CASE("an output that cannot be stored fails its own task only", "[persistent]") {
  CommandStep step = persistent();
  const std::string pid = pid_of(step.run());
  CHECK_THAT(
      failure(step.run(
          R"({"act":"raw","line":"{\"type\":\"result\",\"id\":\"ID\",\"output\":\"\\u0000\"}"})"
      )),
      Catch::Contains("its answer cannot be stored") && Catch::Contains("U+0000")
  );
  CHECK(pid_of(step.run()) == pid);
}

TEST_CASE("a result without output is null, of an array step an array", "[persistent]") {
  CommandStep step = persistent();
  const std::string bare = R"({"act":"raw","line":"{\"type\":\"result\",\"id\":\"ID\"}"})";
  CHECK(completed(step.run(bare)) == "null");
  worker::Command command = probe();
  command.output = worker::Command::Output::array;
  CommandStep array = persistent(std::move(command));
  CHECK_THAT(failure(array.run(bare)), Catch::Contains("returns a JSON array"));
}

TEST_CASE("a cancel names its reason, and is answered", "[persistent]") {
  CommandStep step = persistent();
  const std::string pid = pid_of(step.run());
  const auto [reason, word] = GENERATE(table<StopReason, std::string>({
      {StopReason::timeout, "timeout"},
      {StopReason::shutdown, "shutdown"},
      {StopReason::cancelled, "cancelled"},
  }));
  worker::TaskStop stop;
  auto running = run_beside(step, R"({"act":"finish"})", stop);
  eventually("the command has the task", 10s, [&] { return step.log.has("info here"); });
  stop.request(reason);
  CHECK(completed(running.get()) == "\"" + word + "\"");
  CHECK(pid_of(step.run()) == pid);
}

TEST_CASE("a command that answers its cancel with an error has timed out", "[persistent]") {
  CommandStep step = persistent();
  const std::string pid = pid_of(step.run());
  worker::TaskStop stop;
  auto running = run_beside(step, R"({"act":"wait"})", stop);
  eventually("the command has the task", 10s, [&] { return step.log.has("info here"); });
  stop.request(StopReason::timeout);
  CHECK(failure(running.get()) == "timed out after 3 s");
  CHECK(pid_of(step.run()) == pid);
}

TEST_CASE("a command that ignores a cancel is killed with all that it started", "[persistent]") {
  CommandStep step = persistent();
  const std::string pid = pid_of(step.run());
  worker::TaskStop stop;
  auto running = run_beside(step, R"({"act":"deaf"})", stop);
  eventually("the command has the task", 10s, [&] { return step.log.has("info here"); });
  stop.request(StopReason::timeout);
  CHECK(failure(running.get()) == "timed out after 3 s");
  CHECK(children().empty());
  CHECK(pid_of(step.run()) != pid);
}

TEST_CASE("silence longer than the heartbeat cancels the task", "[persistent]") {
  worker::Command command = probe();
  command.heartbeat = std::chrono::seconds(1);
  CommandStep step = persistent(std::move(command));
  CHECK(completed(step.run(R"({"act":"beat","beats":15})")) == "\"beaten\"");
  CHECK(failure(step.run(R"({"act":"wait"})")) == "silent for 1s: cancelled: silent");
  CHECK(
      failure(step.run(R"({"act":"deaf"})")) ==
      "silent for 1s; the command was killed: it did not answer a cancel in time"
  );
}

TEST_CASE("a command that does not get ready fails the task and says why", "[persistent]") {
  const auto [start, text] = GENERATE(table<std::string, std::string>({
      {"fail", "exited with 3: no such table"},
      {"chatter", "broke the protocol: a line of stdout is no JSON object: \"hello, world\""},
      {"protocol 2", "broke the protocol"},
  }));
  CommandStep step = persistent(Environment{{"PROBE", start}});
  CHECK_THAT(failure(step.run()), Catch::Contains(text));
  CHECK_THAT(failure(step.run()), Catch::Contains(text));
  CommandStep none = persistent(worker::Command{.arguments = {"/no/such/program"}, .folder = "/"});
  CHECK_THAT(failure(none.run()), Catch::Contains("cannot start /no/such/program"));
}

TEST_CASE("a command that says nothing is not waited for longer than 10 s", "[persistent]") {
  CommandStep step = persistent(Environment{{"PROBE", "mute"}});
  const auto began = std::chrono::steady_clock::now();
  CHECK(failure(step.run()) == "did not say that it is ready within 10 s");
  CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(15));
  SECTION("and a task that waits for it can be cancelled") {
    worker::TaskStop stop;
    auto running = run_beside(step, "{}", stop);
    stop.request(StopReason::timeout);
    CHECK(failure(running.get()) == "timed out after 3 s");
  }
}

TEST_CASE("exit code 78 asks the worker to end", "[persistent]") {
  CommandStep at_start = persistent(Environment{{"PROBE", "config"}});
  const StepOutcome refused = at_start.run();
  CHECK(failure(refused) == "exited with 78: no token");
  CHECK(refused.end_worker == ExitCode::config);

  CommandStep later = persistent();
  const StepOutcome outcome = later.run(R"({"act":"exit","code":78})");
  CHECK(failure(outcome) == "exited with 78");
  CHECK(outcome.end_worker == ExitCode::config);
  CHECK(later.run().end_worker == ExitCode::config);
}

TEST_CASE("neither processes nor descriptors nor threads add up", "[persistent]") {
  CommandStep step = persistent();
  completed(step.run());
  failure(step.run(R"({"act":"die"})"));
  const int before = open_descriptors();
  for (int i = 0; i < 10; ++i) {
    completed(step.run());
    failure(step.run(R"({"act":"die"})"));
  }
  CHECK(open_descriptors() == before);
  CHECK(children().empty());
}
