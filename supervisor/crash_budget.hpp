// When a pool has crashed too often: a breaker that lets one worker at a time try.
#pragma once

#include <deque>

#include "base/clock.hpp"
#include "settings/settings.hpp"

namespace pgflow::supervisor {

using settings::Milliseconds;

// Closed: slots fill themselves. Open: only a probe now and then, at one task a time, until one has
// lived for `healthy_after` or done `kTasksThatProve` tasks.
class CrashBudget {
 public:
  explicit CrashBudget(const settings::RestartSettings& settings) : settings_(settings) {}

  // `kTasksThatProve` tasks say as much as a long life.
  static constexpr int kTasksThatProve = 10;

  bool is_open() const { return open_; }
  // Whether this crash has used up the budget.
  bool crashed(SteadyClock::time_point now);
  // Open only: whether a probe may start now. Asked again, the answer is no until the next one's
  // time.
  bool take_probe(SteadyClock::time_point now);
  // A task has ended; closes an open breaker after enough of them.
  void task_ended();
  // A worker has been ready for so long; closes an open breaker when that is long enough.
  void lives(Milliseconds ready_for);
  void close();

 private:
  settings::RestartSettings settings_;
  std::deque<SteadyClock::time_point> crashes_;
  bool open_ = false;
  int tasks_ = 0;  // since it opened or since the last crash
  SteadyClock::time_point next_probe_;
};

}  // namespace pgflow::supervisor
