// How many tasks a worker holds beyond those that its handlers run.
#pragma once

#include <algorithm>
#include <chrono>

#include "base/clock.hpp"

namespace pgflow::worker {

// With handlers of microseconds the database would be asked for every few tasks, and that costs
// more than the tasks. So a worker claims ahead as many as its handlers can do in kAhead: hundreds
// of quick ones, none of those that take a second. Times are the caller's.
class ClaimWindow {
 public:
  static constexpr std::chrono::milliseconds kAhead{30};
  static constexpr int kMost = 1'000;

  // Handlers have ended that ran for so long together.
  void ended(int tasks, SteadyClock::duration ran, SteadyClock::time_point now) {
    if (now - since_ > kRemembered) {
      before_ = now - since_ > 2 * kRemembered ? Sum{} : sum_;
      sum_ = {};
      since_ = now;
    }
    sum_.tasks += tasks;
    sum_.ran += ran;
  }

  int ahead(int handlers) const {
    const double tasks = before_.tasks + sum_.tasks;
    if (tasks == 0) return 0;
    const double mean =
        std::max(1e-6, std::chrono::duration<double>(before_.ran + sum_.ran).count() / tasks);
    return static_cast<int>(
        std::min<double>(kMost, handlers * std::chrono::duration<double>(kAhead).count() / mean)
    );
  }

  // Tasks have waited too long: trust nothing that was seen before.
  void close() { before_ = sum_ = {}; }

 private:
  static constexpr std::chrono::milliseconds kRemembered{500};
  struct Sum {
    double tasks = 0;
    SteadyClock::duration ran{};
  };
  Sum before_;  // of the stretch before this one
  Sum sum_;
  SteadyClock::time_point since_{};
};

}  // namespace pgflow::worker
