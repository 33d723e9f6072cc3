#include "supervisor/crash_budget.hpp"

#include "support/catch.hpp"

using namespace std::chrono_literals;
using namespace pgflow;
using namespace pgflow::supervisor;

namespace {

const SteadyClock::time_point kStart{1h};

// Ten crashes, one a second: the tenth opens it.
CrashBudget open_budget() {
  CrashBudget budget({});
  for (int i = 0; i < 9; ++i) REQUIRE_FALSE(budget.crashed(kStart + i * 1s));
  REQUIRE(budget.crashed(kStart + 9s));
  REQUIRE(budget.is_open());
  return budget;
}

}  // namespace

TEST_CASE("ten crashes within two minutes use the budget up", "[supervisor][budget]") {
  CrashBudget budget({});
  for (int i = 0; i < 100; ++i) CHECK_FALSE(budget.crashed(kStart + i * 14s));
  CHECK_FALSE(budget.is_open());
  for (int i = 1; i <= 9; ++i) budget.crashed(kStart + 100 * 14s + i * 1ms);
  CHECK(budget.is_open());
}

TEST_CASE("a crash opens it once", "[supervisor][budget]") {
  auto budget = open_budget();
  CHECK_FALSE(budget.crashed(kStart + 10s));
  CHECK(budget.is_open());
}

TEST_CASE("while it is open one probe may start every minute", "[supervisor][budget]") {
  auto budget = open_budget();
  CHECK_FALSE(budget.take_probe(kStart + 68s));
  CHECK(budget.take_probe(kStart + 69s));
  CHECK_FALSE(budget.take_probe(kStart + 69s));
  CHECK_FALSE(budget.take_probe(kStart + 128s));
  CHECK(budget.take_probe(kStart + 129s));
}

TEST_CASE("a worker that lives a minute closes it", "[supervisor][budget]") {
  auto budget = open_budget();
  budget.lives(59'999ms);
  CHECK(budget.is_open());
  budget.lives(60s);
  CHECK_FALSE(budget.is_open());
  CHECK_FALSE(budget.take_probe(kStart + 10min));
  // The crashes of before are forgotten.
  CHECK_FALSE(budget.crashed(kStart + 20s));
}

TEST_CASE("ten tasks without a crash between them close it", "[supervisor][budget]") {
  auto budget = open_budget();
  for (int i = 0; i < 9; ++i) budget.task_ended();
  budget.crashed(kStart + 70s);
  for (int i = 0; i < 9; ++i) budget.task_ended();
  CHECK(budget.is_open());
  budget.task_ended();
  CHECK_FALSE(budget.is_open());
}
