// Conditions become jsonb patterns.
#include <pgflow/flow.hpp>
#include <string>

#include "support/catch.hpp"

using namespace pgflow;

namespace {

enum class Plan { free, premium };
struct User {
  std::string name;
  Plan plan;
};
struct Order {
  std::int64_t id;
  std::optional<User> user;
  std::vector<std::string> tags;
};
struct Quote {
  double price;
  bool valid;
};
struct Row {
  int n;
  bool active;
};

const auto quote = [](const Order& order) { return Quote{static_cast<double>(order.id), true}; };
const auto rows = [](const Order&) { return std::vector<Row>{}; };

// The pattern of the flow's last step.
template <class F>
std::string pattern(const F& f) {
  const StepDefinition& last = *f.definition()->steps.back();
  return last.run_if ? *last.run_if : "not " + last.run_if_not.value_or("(none)");
}

template <class F>
std::string pattern_error(F f) {
  try {
    f();
  } catch (const PatternError& e) {
    CHECK(e.error().kind == "pattern");
    return e.what();
  }
  return "(no error)";
}

}  // namespace

TEST_CASE("a root step's condition is a pattern of the flow's input", "[flow][condition]") {
  const auto f = flow<"f", Order>();
  CHECK(pattern(f.step<"s">(run_if(input(&Order::id) == 5), quote)) == R"({"id":5})");
  CHECK(
      pattern(f.step<"s">(
          run_if(
              input(&Order::user, &User::plan) == Plan::premium &&
              input(&Order::tags).contains("vip", "new")
          ),
          quote
      )) == R"({"user":{"plan":"premium"},"tags":["vip","new"]})"
  );
  CHECK(
      pattern(f.step<"s">(
          run_if_not(
              input(&Order::user, &User::plan) == Plan::free &&
              input(&Order::user, &User::name) == "ann"
          ),
          quote
      )) == R"(not {"user":{"plan":"free","name":"ann"}})"
  );
}

TEST_CASE("a dependent step's condition is a pattern of its dependencies", "[flow][condition]") {
  const auto f = flow<"f", Order>().step<"quote">(quote).array<"rows">(rows);
  CHECK(
      pattern(f.step<"s">(
          depends_on<"quote", "rows">,
          run_if(
              output<"quote">(&Quote::valid) == true &&
              output<"rows">().contains(item(&Row::active) == true, item(&Row::n) == 1)
          ),
          [] {}
      )) == R"({"quote":{"valid":true},"rows":[{"active":true},{"n":1}]})"
  );
}

TEST_CASE("the whole input or output can be compared", "[flow][condition]") {
  const auto f = flow<"f", std::string>().step<"n">(
      run_if(input() == "go"), [](const std::string&) { return 1; }
  );
  CHECK(pattern(f) == "\"go\"");
  CHECK(pattern(f.step<"s">(depends_on<"n">, run_if(output<"n">() == 2), [] {})) == R"({"n":2})");
}

TEST_CASE("present() is {} for an object and [] for an array", "[flow][condition]") {
  const auto f = flow<"f", Order>().step<"quote">(quote).array<"rows">(rows);
  CHECK(pattern(f.step<"s">(depends_on<"quote">, run_if_not(output<"quote">().present()), [] {
        })) == R"(not {"quote":{}})");
  CHECK(pattern(f.step<"s">(depends_on<"rows">, run_if(output<"rows">().present()), [] {
        })) == R"({"rows":[]})");
  CHECK(
      pattern(f.step<"s">(
          depends_on<"quote">,
          run_if(output<"quote">().present() && output<"quote">(&Quote::valid) == true),
          [] {}
      )) == R"({"quote":{"valid":true}})"
  );
}

TEST_CASE(
    "two values for one place are refused, the same value twice is not", "[flow][condition]"
) {
  CHECK(pattern_error([] {
          (void)(input(&Order::id) == 1 && input(&Order::id) == 2);
        }) == "Two conditions ask for different values at the same place: 1 and 2.");
  CHECK(pattern_error([] {
          (void)(input(&Order::id) == 1 && input(&Order::id) == 1);
        }) == "(no error)");
}

TEST_CASE("a raw pattern is stored compact and checked against the types", "[flow][condition]") {
  const auto f = flow<"f", Order>().step<"quote">(quote);
  CHECK(
      pattern(f.step<"s">(
          depends_on<"quote">, run_if(json_pattern("{ \"quote\":\n {\"valid\": true} }")), [] {}
      )) == R"({"quote":{"valid":true}})"
  );
  const auto root = [&](std::string_view text) {
    return pattern_error([&] { (void)f.step<"s">(run_if(json_pattern(text)), quote); });
  };
  CHECK(
      root(R"({"user":{"plan":"gold"}})") ==
      R"(json_pattern: /user/plan: expected one of "free", "premium", got "gold")"
  );
  CHECK(root(R"({"id":"5"})") == R"(json_pattern: /id: expected a number, got "5")");
  CHECK(root("{").starts_with("json_pattern: (document): line 1, column 2: "));
  CHECK(pattern_error([&] {
          (void)f.step<"s">(
              depends_on<"quote">, run_if(json_pattern(R"({"quote":{"prize":1}})")), [] {}
          );
        }).starts_with("json_pattern: /quote/prize: is no member of "));
  CHECK(pattern_error([&] {
          (void)f.step<"s">(depends_on<"quote">, run_if(json_pattern(R"({"qoute":{}})")), [] {});
        }) == "json_pattern: /qoute: is no member of the dependencies");
}
