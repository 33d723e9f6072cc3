// The helper modules for Python and Node keep the protocol, whatever the handler does.
#include "json/value.hpp"
#include "unit/worker/command_harness.hpp"

using namespace pgflow;
using namespace pgflow::test;
using worker::StepOutcome;
using Kind = worker::StepOutcome::Kind;

namespace {

const std::string kFolder = PGFLOW_SOURCE_DIR "/tests/unit/worker/helpers/";

CommandStep served_by(const std::string& program, const std::string& script) {
  return CommandStep(
      {.arguments = {"/usr/bin/" + program, kFolder + script},
       .folder = "/",
       .environment = {{"HELPERS", PGFLOW_SOURCE_DIR "/examples/helpers"}},
       .heartbeat = std::chrono::seconds(5)},
      CommandStep::Mode::persistent
  );
}

}  // namespace

TEST_CASE("the helper modules speak the protocol", "[persistent][helpers]") {
  const bool is_python = GENERATE(true, false);
  CommandStep step = is_python ? served_by("python3", "step.py") : served_by("node", "step.mjs");
  CAPTURE(is_python);

  // U+2028 ends lines for some readers.
  const auto echo = json::parse(completed(step.run("{\"act\":\"echo\",\"text\":\"a\u2028b\"}")));
  REQUIRE(echo);
  CHECK(echo->find("text")->text == "a\u2028b");
  CHECK(echo->find("run")->text == "0b5c51ae-6c0e-4d8e-b0ae-7f1d6a1f5a55");
  CHECK(echo->find("msg")->text == "9007199254740993");

  CHECK(failure(step.run(R"({"act":"fail"})")) == (is_python ? "ValueError: busy" : "Error: busy"));
  const StepOutcome given_up = step.run(R"({"act":"give up"})");
  CHECK(given_up.kind == Kind::permanent);
  CHECK_THAT(given_up.text, Catch::Contains("never"));
  CHECK(completed(step.run(R"({"act":"nothing"})")) == "null");
  if (is_python)
    CHECK_THAT(failure(step.run(R"({"act":"bad"})")), Catch::Contains("JSON compliant"));
  CHECK(completed(step.run(R"({"act":"log"})")) == "null");
  CHECK(step.log.has("warn hello a=1"));

  const auto cancelled = [&](const std::string& input) {
    const auto before = step.log.lines().size();
    worker::TaskStop stop;
    auto running = std::async(std::launch::async, [&] { return step.run(input, stop); });
    eventually("the handler runs", 10s, [&] { return step.log.lines().size() > before; });
    CHECK(completed(step.run(R"({"act":"nothing"})")) == "null");  // beside it
    stop.request(StopReason::timeout);
    return running.get();
  };
  CHECK(failure(cancelled(R"({"act":"wait"})")) == "timed out after 3 s");
  CHECK(completed(cancelled(R"({"act":"wait","finish":true})")) == "\"timeout\"");
}
