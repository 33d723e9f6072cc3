// flow_shape and manifest: the bytes that leave the process.
#include <pgflow/step_queues.hpp>
#include <string>

#include "json/value.hpp"
#include "support/catch.hpp"

using namespace pgflow;
using namespace std::chrono_literals;

namespace {

struct Message {
  std::string text;
};
struct Classified {
  bool urgent;
};
struct Slack {};

const auto classify = [](const Message&) { return Classified{}; };
const auto deliver = [](const Classified&, FlowInput<Message>, Slack&) { return 1; };

auto threads(StepOptions options = {.max_attempts = 5, .timeout = 30s}) {
  return flow<"threadsV1", Message>()
      .step<"classify">(options, classify)
      .step<"deliver">(
          depends_on<"classify">, run_if(output<"classify">(&Classified::urgent) == true), deliver
      );
}

json::Value parsed(const std::string& text) {
  auto value = json::parse(text);
  REQUIRE(value.has_value());
  return std::move(*value);
}

std::string fingerprint(const FlowDefinition& flow, QueueMode mode) {
  return parsed(manifest(flow, mode)).find("fingerprint")->text;
}

}  // namespace

TEST_CASE("the shape has upstream's keys in upstream's order", "[flow][shape]") {
  CHECK(
      flow_shape(*threads().definition()) ==
      R"({"steps":[{"slug":"classify","stepType":"single","dependencies":[],"whenUnmet":"skip",)"
      R"("whenExhausted":"fail","requiredInputPattern":{"defined":false},)"
      R"("forbiddenInputPattern":{"defined":false},"options":{"maxAttempts":5,"timeout":30}},)"
      R"({"slug":"deliver","stepType":"single","dependencies":["classify"],"whenUnmet":"skip",)"
      R"("whenExhausted":"fail","requiredInputPattern":{"defined":true,"value":{"classify":)"
      R"({"urgent":true}}},"forbiddenInputPattern":{"defined":false}}]})"
  );
}

TEST_CASE(
    "the shape sorts dependencies bytewise and names every mode and option", "[flow][shape]"
) {
  const auto f = flow<"f", std::vector<int>>({.max_attempts = 2, .base_delay = 1s, .timeout = 3s})
                     .map<"b">(when_exhausted(skip), [](int n) { return n; })
                     .step<"A">(run_if_not(input().contains(1)), when_unmet(fail), [] { return 1; })
                     .step<"sum">(
                         {.base_delay = 4s, .start_delay = 0s},
                         depends_on<"b", "A">,
                         run_if_not(output<"A">() == 2),
                         when_unmet(skip_cascade),
                         [] {}
                     );
  CHECK(
      flow_shape(*f.definition()) ==
      R"({"steps":[{"slug":"b","stepType":"map","dependencies":[],"whenUnmet":"skip",)"
      R"("whenExhausted":"skip","requiredInputPattern":{"defined":false},)"
      R"("forbiddenInputPattern":{"defined":false}},)"
      R"({"slug":"A","stepType":"single","dependencies":[],"whenUnmet":"fail",)"
      R"("whenExhausted":"fail","requiredInputPattern":{"defined":false},)"
      R"("forbiddenInputPattern":{"defined":true,"value":[1]}},)"
      R"({"slug":"sum","stepType":"single","dependencies":["A","b"],"whenUnmet":"skip-cascade",)"
      R"("whenExhausted":"fail","requiredInputPattern":{"defined":false},)"
      R"("forbiddenInputPattern":{"defined":true,"value":{"A":2}},)"
      R"("options":{"baseDelay":4,"startDelay":0}}],)"
      R"("options":{"maxAttempts":2,"baseDelay":1,"timeout":3}})"
  );
}

TEST_CASE("a manifest is one line with the parts the supervisor needs", "[flow][manifest]") {
  const std::string text = manifest(*threads().definition(), QueueMode::step);
  CHECK(text.find('\n') == std::string::npos);
  CHECK(
      text.starts_with(R"({"pgflowManifest":1,"flowSlug":"threadsV1","queueMode":"step","routes":[)"
                       R"({"stepSlug":"classify","stepIndex":0,"queueName":"threadsv1__classify"},)"
                       R"({"stepSlug":"deliver","stepIndex":1,"queueName":"threadsv1__deliver"}],)"
                       R"("shape":{"steps":[)")
  );
  const json::Value root = parsed(text);
  std::vector<std::string> keys;
  for (const auto& member : root.members) {
    keys.push_back(member.name);
  }
  CHECK(
      keys ==
      std::vector<std::string>{
          "pgflowManifest",
          "flowSlug",
          "queueMode",
          "routes",
          "shape",
          "inputSchema",
          "steps",
          "fingerprint",
          "pgflowVersion",
          "protocol"
      }
  );
  const json::Value& deliver_step = root.find("steps")->items[1];
  CHECK(deliver_step.find("needsFlowInput")->flag);
  CHECK(deliver_step.find("needs")->items.size() == 1);
  CHECK(deliver_step.find("handler")->find("kind")->text == "native");
  CHECK(deliver_step.find("outputSchema")->find("type")->text == "integer");
  CHECK(root.find("protocol")->text == "1");
  CHECK(manifest(*threads().definition(), QueueMode::step) == text);
}

TEST_CASE("the fingerprint covers mode, routes and shape, but no options", "[flow][manifest]") {
  const std::string print = fingerprint(*threads().definition(), QueueMode::step);
  CHECK(print.starts_with("sha256:"));
  CHECK(print.size() == 7 + 64);
  CHECK(fingerprint(*threads({.max_attempts = 1}).definition(), QueueMode::step) == print);
  CHECK(fingerprint(*threads().definition(), QueueMode::flow) != print);
  const auto longer = threads().step<"more">([] {});
  CHECK(fingerprint(*longer.definition(), QueueMode::step) != print);
}

TEST_CASE("a flow that cannot be routed has no manifest", "[flow][manifest]") {
  const auto f = flow<int>(std::string(48, 'f')).step<"s">([] {});
  CHECK_THROWS_AS(manifest(*f.definition(), QueueMode::flow), DefaultQueueNameError);
  CHECK_THROWS_AS(manifest(*f.definition(), QueueMode::step), FlowQueueNameError);
}
