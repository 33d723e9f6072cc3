#include "supervisor/restart_policy.hpp"

#include "support/catch.hpp"

using namespace std::chrono_literals;
using namespace pgflow::supervisor;
using pgflow::contract::ExitReaction;

namespace {

// The longest wait that the dice can give, but for a hair.
constexpr double kMost = 0.999'999'999;

RestartPolicy policy() {
  return RestartPolicy({});
}

}  // namespace

TEST_CASE("the wait doubles from 250 ms to 30 s and stays there", "[supervisor][restart]") {
  auto restart = policy();
  for (const auto most :
       {250ms, 500ms, 1'000ms, 2'000ms, 4'000ms, 8'000ms, 16'000ms, 30'000ms, 30'000ms, 30'000ms}) {
    const auto wait = restart.wait_after(ExitReaction::crash, 0ms, kMost);
    CHECK(wait <= most);
    CHECK(wait >= most - 1ms);
  }
  CHECK(restart.crashes() == 10);
}

TEST_CASE("the jitter is full: a wait may be nothing", "[supervisor][restart]") {
  auto restart = policy();
  for (int i = 0; i < 10; ++i) CHECK(restart.wait_after(ExitReaction::crash, 0ms, 0.0) == 0ms);
}

TEST_CASE("a worker that was healthy for 60 s ends the growth", "[supervisor][restart]") {
  auto restart = policy();
  for (int i = 0; i < 5; ++i) restart.wait_after(ExitReaction::crash, 0ms, kMost);
  CHECK(restart.wait_after(ExitReaction::crash, 59'999ms, kMost) > 7'000ms);
  CHECK(restart.wait_after(ExitReaction::crash, 60'000ms, kMost) < 250ms);
  CHECK(restart.crashes() == 1);
}

TEST_CASE("a replacement is immediate and not counted", "[supervisor][restart]") {
  auto restart = policy();
  CHECK(restart.wait_after(ExitReaction::replace, 5'000ms, kMost) == 0ms);
  CHECK(restart.crashes() == 0);
}

TEST_CASE("a worker that leaves again and again at once is a crash", "[supervisor][restart]") {
  auto restart = policy();
  CHECK(restart.wait_after(ExitReaction::replace, 100ms, kMost) > 0ms);
  CHECK(restart.crashes() == 1);
}

TEST_CASE("trouble with the database backs off and is not counted", "[supervisor][restart]") {
  auto restart = policy();
  restart.wait_after(ExitReaction::try_later, 0ms, kMost);
  CHECK(restart.wait_after(ExitReaction::try_later, 0ms, kMost) > 250ms);
  CHECK(restart.crashes() == 0);
}

TEST_CASE("a fenced worker is looked at again after the longest wait", "[supervisor][restart]") {
  auto restart = policy();
  CHECK(restart.wait_after(ExitReaction::stay_down, 0ms, 0.0) == 30'000ms);
  CHECK(restart.crashes() == 0);
}

TEST_CASE("a thousand crashes do not overflow the wait", "[supervisor][restart]") {
  auto restart = policy();
  for (int i = 0; i < 2'000; ++i) {
    const auto wait = restart.wait_after(ExitReaction::crash, 0ms, 0.5);
    CHECK(wait >= 0ms);
    CHECK(wait <= 15'000ms);
  }
}

TEST_CASE("starts come in a burst and then at their rate", "[supervisor][restart]") {
  auto now = SpawnBudget::Clock::time_point{};
  SpawnBudget budget(10, now);
  int taken = 0;
  while (budget.take(now)) ++taken;
  CHECK(taken == 10);
  CHECK_FALSE(budget.take(now + 50ms));
  CHECK(budget.take(now + 101ms));
  CHECK_FALSE(budget.take(now + 102ms));
  taken = 0;
  while (budget.take(now + 1h)) ++taken;
  CHECK(taken == 10);
}
