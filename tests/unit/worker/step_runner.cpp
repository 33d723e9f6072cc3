// worker/step_runner: what a handler's end means, one row of the outcome table after the other.
#include "worker/step_runner.hpp"

#include "support/catch.hpp"

using namespace pgflow;
using worker::StepOutcome;
using Kind = StepOutcome::Kind;

namespace {

struct Silent : Logger {
  void write(Level, std::string_view, const std::vector<LogField>&) override {}
};

using Handler = std::string (*)(const void*, const detail::Call&);

StepOutcome run(Handler handler, StopReason reason = StopReason::none) {
  StepDefinition step;
  step.slug = "work";
  step.invoke = handler;
  TaskInfo task;
  task.attempt = 2;
  worker::TaskStop stop;
  if (reason != StopReason::none) stop.request(reason);
  Silent log;
  const detail::Resources lent;
  worker::LazyResources resources(lent);
  return worker::run_step(
      {.step = step,
       .task = task,
       .input = R"({"n":1})",
       .flow_input = R"({"flow":1})",
       .timeout = std::chrono::seconds(7),
       .deadline = {},
       .stop = stop,
       .log = log},
      resources
  );
}

std::string returns(const void*, const detail::Call& call) {
  return std::string(call.input) + call.load_flow_input() + std::to_string(call.task->attempt);
}
std::string throws(const void*, const detail::Call&) {
  throw std::runtime_error("no luck");
}
std::string throws_forever(const void*, const detail::Call&) {
  throw PermanentFailure("never");
}
std::string throws_aborted(const void*, const detail::Call&) {
  throw Aborted();
}
std::string throws_int(const void*, const detail::Call&) {
  throw 5;
}
std::string throws_rubbish(const void*, const detail::Call&) {
  // A cut character, a surrogate, an overlong form, a NUL's neighbour: none may reach a text
  // column.
  throw std::runtime_error("a\xC3 b\xED\xA0\x80 c\xC0\x80 d\xF5 ü€😀");
}
std::string returns_too_much(const void*, const detail::Call&) {
  return std::string(256U << 20U, ' ');
}
std::string throws_a_book(const void*, const detail::Call&) {
  std::string text;
  while (text.size() < 100'000) text += "€";
  throw std::runtime_error(text);
}

}  // namespace

TEST_CASE("an output that no jsonb holds is a failed attempt", "[worker][step_runner]") {
  const StepOutcome outcome = run(returns_too_much);
  CHECK(outcome.kind == Kind::failed);
  CHECK(outcome.text == "the output has 256 MiB; the database stores at most 255 MiB");
}

TEST_CASE("a handler that returns completes with its JSON", "[worker][step_runner]") {
  const StepOutcome outcome = run(returns);
  CHECK(outcome.kind == Kind::completed);
  CHECK(outcome.text == R"({"n":1}{"flow":1}2)");
  // Done is done, also when a stop came while it ran.
  CHECK(run(returns, StopReason::timeout).kind == Kind::completed);
  CHECK(run(returns, StopReason::shutdown).kind == Kind::completed);
}

TEST_CASE("a throw is a failed attempt with its text", "[worker][step_runner]") {
  CHECK(run(throws).kind == Kind::failed);
  CHECK(run(throws).text == "no luck");
  CHECK(run(throws_int).kind == Kind::failed);
  CHECK(run(throws_int).text == "the handler threw something that is not a std::exception");
  CHECK(run(throws_aborted).kind == Kind::failed);
}

TEST_CASE("a permanent failure says so", "[worker][step_runner]") {
  CHECK(run(throws_forever).kind == Kind::permanent);
  CHECK(run(throws_forever).text == "never");
  CHECK(run(throws_forever, StopReason::timeout).kind == Kind::permanent);
}

TEST_CASE(
    "after a stop for shutdown or cancellation any throw gives the task back",
    "[worker][step_runner]"
) {
  for (const Handler handler : {throws, throws_forever, throws_aborted, throws_int}) {
    CHECK(run(handler, StopReason::shutdown).kind == Kind::released);
    CHECK(run(handler, StopReason::cancelled).kind == Kind::released);
  }
}

TEST_CASE("a handler learns why it is asked to stop", "[worker][step_runner]") {
  const Handler tells = [](const void*, const detail::Call& call) {
    const Context context(call);
    CHECK(context.stop_token().stop_requested() == (context.stop_reason() != StopReason::none));
    return std::to_string(static_cast<int>(context.stop_reason()));
  };
  for (const StopReason reason :
       {StopReason::none, StopReason::timeout, StopReason::shutdown, StopReason::cancelled}) {
    CHECK(run(tells, reason).text == std::to_string(static_cast<int>(reason)));
  }
}

TEST_CASE("after the deadline a throw is a timeout", "[worker][step_runner]") {
  for (const Handler handler : {throws, throws_aborted, throws_int}) {
    CHECK(run(handler, StopReason::timeout).kind == Kind::failed);
    CHECK(run(handler, StopReason::timeout).text == "timed out after 7 s");
  }
}

TEST_CASE("the first reason to stop counts", "[worker][step_runner]") {
  worker::TaskStop stop;
  CHECK_FALSE(stop.token().stop_requested());
  stop.request(StopReason::timeout);
  stop.request(StopReason::shutdown);
  CHECK(stop.token().stop_requested());
  CHECK(stop.reason() == StopReason::timeout);
}

TEST_CASE("a failure's text is valid UTF-8 of bounded length", "[worker][step_runner]") {
  CHECK(run(throws_rubbish).text == "a� b��� c�� d� ü€😀");
  const std::string book = run(throws_a_book).text;
  CHECK(book.size() <= 4003);
  CHECK(book.ends_with("€…"));
}

TEST_CASE("a resource that cannot be made fails the attempt", "[worker][step_runner]") {
  StepDefinition step;
  step.invoke = returns;
  const TaskInfo task;
  const worker::TaskStop stop;
  Silent log;
  const detail::Resources lent =
      detail::lend(each_thread<int>([]() -> int { throw std::runtime_error("no line to Slack"); }));
  worker::LazyResources resources(lent);
  const StepOutcome outcome = worker::run_step(
      {.step = step,
       .task = task,
       .input = "1",
       .flow_input = "",
       .timeout = std::chrono::seconds(7),
       .deadline = {},
       .stop = stop,
       .log = log},
      resources
  );
  CHECK(outcome.kind == Kind::failed);
  CHECK(outcome.text == "no line to Slack");
}
