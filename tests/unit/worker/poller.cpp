// worker/poller: how often an idle and a busy queue is looked at.
#include "worker/poller.hpp"

#include "support/catch.hpp"

using namespace std::chrono_literals;
using pgflow::worker::PollPace;

TEST_CASE("a queue that gives all it was asked for is read again at once", "[worker][poller]") {
  PollPace pace(100ms, 1000ms);
  CHECK(pace.after(4, 4) == 0ms);
  CHECK(pace.after(4, 4) == 0ms);
}

TEST_CASE("a queue that gives less is read again soon", "[worker][poller]") {
  PollPace pace(100ms, 1000ms);
  CHECK(pace.after(4, 1) == 100ms);
  CHECK(pace.after(4, 0) == 100ms);
}

TEST_CASE("an idle queue is read when its next message becomes visible", "[worker][poller]") {
  PollPace pace(100ms, 1000ms);
  const pgflow::SteadyClock::time_point now{std::chrono::hours(1)};
  CHECK_FALSE(pace.knows_next(now));
  CHECK(pace.after_empty(4, 60ms, now) == 60ms);
  CHECK(pace.knows_next(now + 59ms));
  CHECK_FALSE(pace.knows_next(now + 60ms));
  // Not asked again meanwhile, not forgotten either.
  CHECK(pace.after_empty(4, std::nullopt, now + 20ms) == 40ms);
  // Something was taken: all is open again.
  pace.after(4, 1);
  CHECK_FALSE(pace.knows_next(now + 20ms));
  CHECK(pace.after_empty(4, std::nullopt, now + 20ms) == 100ms);
}

TEST_CASE("a message that somebody else reads is no reason to hurry", "[worker][poller]") {
  PollPace pace(100ms, 1000ms);
  const pgflow::SteadyClock::time_point now{std::chrono::hours(1)};
  CHECK(pace.after_empty(4, 0ms, now) == 100ms);
  CHECK(pace.after_empty(4, -5000ms, now) > 100ms);
  CHECK(pace.after_empty(4, 1ms, now) >= 10ms);
  // Later than the pace: the pace counts, because somebody may send an earlier one.
  CHECK(pace.after_empty(4, 1h, now) <= 1000ms);
}

TEST_CASE("a wake-up starts the pace over", "[worker][poller]") {
  PollPace pace(100ms, 1000ms);
  for (int i = 0; i < 50; ++i) pace.after(4, 0);
  CHECK(pace.wake(pgflow::SteadyClock::now()) == 0ms);
  CHECK(pace.after(4, 0) == 100ms);
}

TEST_CASE(
    "a wake-up is followed at once, a flood of them every few milliseconds", "[worker][poller]"
) {
  PollPace pace(100ms, 1000ms);
  const auto now = pgflow::SteadyClock::now();
  // Another look, as after a settling, is no reason to wait.
  pace.after(4, 0);
  CHECK(pace.wake(now) == 0ms);
  CHECK(pace.wake(now + 2ms) == 3ms);
  CHECK(pace.wake(now + 3ms) == 2ms);
  CHECK(pace.wake(now + 5ms) == 0ms);
  CHECK(pace.wake(now + 6ms) == 4ms);
}

TEST_CASE(
    "an idle queue is read less and less often, and never less than the idle pace",
    "[worker][poller]"
) {
  PollPace pace(100ms, 1000ms);
  auto last = 0ms;
  for (int i = 0; i < 50; ++i) {
    const auto next = pace.after(4, 0);
    CHECK(next >= last);
    CHECK(next <= 1000ms);
    last = next;
  }
  CHECK(last == 1000ms);
  CHECK(pace.after(4, 2) == 100ms);
  CHECK(pace.after(4, 0) == 100ms);
}
