// worker/claim_window: how far a worker claims ahead.
#include "worker/claim_window.hpp"

#include "support/catch.hpp"

using pgflow::SteadyClock;
using pgflow::worker::ClaimWindow;
using namespace std::chrono_literals;

TEST_CASE("nothing is claimed ahead before a handler has ended", "[worker][claim_window]") {
  CHECK(ClaimWindow().ahead(10) == 0);
}

TEST_CASE("as much is claimed ahead as the handlers do in 30 ms", "[worker][claim_window]") {
  ClaimWindow window;
  const auto start = SteadyClock::now();
  for (int i = 1; i <= 1'000; ++i) window.ended(1, 2ms, start + i * 1ms);
  CHECK(window.ahead(1) == 15);
  CHECK(window.ahead(10) == 150);
}

TEST_CASE("of tasks that take a second none is claimed ahead", "[worker][claim_window]") {
  ClaimWindow window;
  window.ended(10, 10s, SteadyClock::now());
  CHECK(window.ahead(10) == 0);
}

TEST_CASE("the window has an end, and closes", "[worker][claim_window]") {
  ClaimWindow window;
  window.ended(1'000, 1ms, SteadyClock::now());
  CHECK(window.ahead(10) == ClaimWindow::kMost);
  window.close();
  CHECK(window.ahead(10) == 0);
}

TEST_CASE("what was long ago is forgotten", "[worker][claim_window]") {
  ClaimWindow window;
  const auto start = SteadyClock::now();
  window.ended(1'000, 1ms, start);
  window.ended(1, 30ms, start + 600ms);
  CHECK(window.ahead(1) > 900);
  window.ended(1, 30ms, start + 1'200ms);
  CHECK(window.ahead(1) == 1);
}
