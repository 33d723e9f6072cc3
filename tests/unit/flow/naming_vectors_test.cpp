// The naming vectors that C++ and SQL share, against the resolver.
#include <fstream>
#include <iterator>
#include <optional>
#include <pgflow/json.hpp>
#include <pgflow/shape.hpp>
#include <string>
#include <vector>

#include "support/catch.hpp"

using namespace pgflow;

namespace {

struct VectorError {
  std::string kind;
  std::optional<std::string> message, detail, hint;
};
struct Expectation {
  std::optional<std::vector<std::string>> routes;
  std::optional<VectorError> error;
};
struct Vector {
  std::string id, flow_slug;
  std::vector<std::string> steps;
  Expectation expect;
  std::optional<std::string> mode;
  std::string note;
};

std::vector<Vector> all_vectors() {
  std::ifstream file(PGFLOW_SOURCE_DIR "/tests/vectors/naming-vectors.json");
  REQUIRE(file.good());
  return from_json<std::vector<Vector>>(
      std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>())
  );
}

FlowDefinition definition_of(const Vector& vector) {
  FlowDefinition flow;
  flow.slug = vector.flow_slug;
  for (const std::string& slug : vector.steps) {
    auto step = std::make_shared<StepDefinition>();
    step->slug = slug;
    flow.steps.push_back(std::move(step));
  }
  return flow;
}

}  // namespace

TEST_CASE("the resolver gives every naming vector its routes or its error", "[flow][naming]") {
  const auto vectors = all_vectors();
  CHECK(vectors.size() == 73);
  for (const Vector& vector : vectors) {
    CAPTURE(vector.id, vector.note);
    const QueueMode mode = vector.mode == "flow" ? QueueMode::flow : QueueMode::step;
    try {
      std::vector<std::string> names;
      for (const StepRoute& route : resolve_routes(definition_of(vector), mode)) {
        CHECK(route.step_index == names.size());
        CHECK(route.step_slug == vector.steps[route.step_index]);
        CHECK(route.queue_name.size() <= kMaxPgmqQueueNameLength);
        names.push_back(route.queue_name);
      }
      CHECK(names == vector.expect.routes.value_or(std::vector<std::string>{"(an error)"}));
    } catch (const FlowError& e) {
      REQUIRE(vector.expect.error.has_value());
      const VectorError& expected = *vector.expect.error;
      CHECK(e.error().kind == expected.kind);
      CHECK(e.error().message == expected.message.value_or(e.error().message));
      CHECK(e.error().detail == expected.detail.value_or(e.error().detail));
      CHECK(e.error().hint == expected.hint.value_or(e.error().hint));
    }
  }
}
