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
