// How long a slot waits before its next start.
#pragma once

#include <chrono>

#include "contract/exit_reaction.hpp"
#include "settings/settings.hpp"

namespace pgflow::supervisor {

using settings::Milliseconds;

class RestartPolicy {
 public:
  explicit RestartPolicy(const settings::RestartSettings& settings) : settings_(settings) {}

  // `ready_for`: how long the worker was ready; zero when it never was. `dice`: a uniform random
  // number from [0, 1): full jitter, so that pools which die together do not come back together.
  // Not for give_up.
  Milliseconds wait_after(contract::ExitReaction reaction, Milliseconds ready_for, double dice);

  // Crashes since the last healthy worker; what is "not counted" is not in it.
  int crashes() const noexcept { return crashes_; }

 private:
  settings::RestartSettings settings_;
  int attempts_ = 0;  // the exponent
  int crashes_ = 0;
};

// A worker that leaves by its own will sooner than this has crashed politely.
inline constexpr Milliseconds kShortestGoodLife{5'000};

// Token bucket for process starts, all pools together.
class SpawnBudget {
 public:
  using Clock = std::chrono::steady_clock;
  explicit SpawnBudget(int per_second, Clock::time_point now)
      : per_second_(per_second), tokens_(per_second), filled_at_(now) {}

  bool take(Clock::time_point now);

 private:
  double per_second_;
  double tokens_;
  Clock::time_point filled_at_;
};

}  // namespace pgflow::supervisor
