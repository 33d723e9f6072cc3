// What .step() stores, which types a flow knows, and what only run time can refuse.
#include <pgflow/flow.hpp>
#include <string>

#include "support/catch.hpp"

using namespace pgflow;
using namespace std::chrono_literals;

namespace {

struct Order {
  std::int64_t id;
};
struct Quote {
  double price;
};
struct Row {
  int n;
};
struct Db {};

Quote quote(const Order& order) {
  return {static_cast<double>(order.id)};
}

template <class F>
std::string option_error(F f) {
  try {
    f();
  } catch (const OptionError& e) {
    CHECK(e.error().kind == "option");
    return e.what();
  }
  return "(no error)";
}

}  // namespace

TEST_CASE("a step stores its slug, kind, dependencies, options and modes", "[flow]") {
  const auto f = flow<"orders", Order>({.max_attempts = 4, .base_delay = 2s, .timeout = 9s})
                     .step<"quote">({.max_attempts = 7, .start_delay = 1s}, quote)
                     .array<"rows">(
                         when_exhausted(skip_cascade),
                         depends_on<"quote">,
                         [](const Quote&) { return std::vector<Row>{}; }
                     )
                     .map<"each">(over<"rows">, [](const Row& row, Db&) { return row.n; });
  const FlowDefinition& definition = *f.definition();
  CHECK(definition.slug == "orders");
  CHECK(definition.options.max_attempts == 4);
  CHECK(definition.options.base_delay == 2s);
  REQUIRE(definition.steps.size() == 3);
  CHECK(definition.steps[0]->options.max_attempts == 7);
  CHECK(definition.steps[0]->options.start_delay == 1s);
  CHECK(definition.steps[0]->depends_on.empty());
  CHECK(definition.steps[1]->kind == StepKind::single);
  CHECK(definition.steps[1]->when_exhausted == SkipMode::skip_cascade);
  CHECK(definition.steps[1]->when_unmet == SkipMode::skip);
  CHECK(definition.steps[2]->kind == StepKind::map);
  CHECK(definition.steps[2]->depends_on == std::vector<std::string>{"rows"});
  CHECK(definition.steps[2]->needs.size() == 1);
  CHECK(definition.steps[2]->needs[0].find("Db") != std::string_view::npos);
  CHECK_FALSE(definition.steps[2]->needs_flow_input);
}

TEST_CASE("the flow's type knows every output", "[flow]") {
  const auto f = flow<"types", Order>().step<"quote">(quote).step<"nothing">([] {}
  ).step<"text">([] { return "literal"; }
  ).array<"list">([] {
     return std::vector<int>{1};
   }).map<"each">(over<"list">, [](int n) { return n * 2.0; });
  using F = std::remove_const_t<decltype(f)>;
  STATIC_REQUIRE(std::is_same_v<F::input_type, Order>);
  STATIC_REQUIRE(F::size == 5);
  STATIC_REQUIRE(std::is_same_v<F::output_of<"quote">, Quote>);
  STATIC_REQUIRE(std::is_same_v<F::output_of<"nothing">, std::monostate>);
  STATIC_REQUIRE(std::is_same_v<F::output_of<"text">, std::string>);
  STATIC_REQUIRE(std::is_same_v<F::output_of<"list">, std::vector<int>>);
  STATIC_REQUIRE(std::is_same_v<F::output_of<"each">, std::vector<double>>);
}

TEST_CASE("adding a step leaves the flow it was added to alone", "[flow]") {
  const auto base = flow<"base", int>().step<"a">([](int x) { return x; });
  const auto more = base.step<"b">(depends_on<"a">, [](int x) { return x; });
  CHECK(base.definition()->steps.size() == 1);
  CHECK(more.definition()->steps.size() == 2);
  CHECK(more.definition()->steps[0] == base.definition()->steps[0]);
}

TEST_CASE("options out of range are refused where they are written", "[flow]") {
  const auto flow_with = [](FlowOptions options) {
    return option_error([&] { (void)flow<"f", int>(options); });
  };
  const auto step_with = [](StepOptions options) {
    return option_error([&] { (void)flow<"f", int>().step<"s">(options, [] {}); });
  };
  CHECK(flow_with({.max_attempts = 0}) == "Flow \"f\": max_attempts must be at least 1.");
  CHECK(flow_with({.base_delay = 0s}) == "Flow \"f\": base_delay must be at least 1 s.");
  CHECK(flow_with({.timeout = 2s}) == "Flow \"f\": timeout must be at least 3 s.");
  CHECK(step_with({.max_attempts = -1}) == "Step \"s\": max_attempts must be at least 1.");
  CHECK(step_with({.start_delay = -1s}) == "Step \"s\": start_delay cannot be negative.");
  CHECK(
      step_with({.max_attempts = 1, .base_delay = 1s, .timeout = 3s, .start_delay = 0s}) ==
      "(no error)"
  );
}

TEST_CASE("a flow slug from run time is checked when the flow is made", "[flow]") {
  try {
    (void)flow<int>("a__b");
    FAIL("no exception");
  } catch (const InvalidSlugError& e) {
    CHECK(e.slug == "a__b");
    CHECK(
        std::string(e.what()) ==
        "Invalid flow slug \"a__b\". \"__\" is reserved for generated queue names. Rename the flow."
    );
  }
}
