#include "supervisor/restart_policy.hpp"

#include <algorithm>
#include <cmath>

namespace pgflow::supervisor {

using contract::ExitReaction;

Milliseconds RestartPolicy::wait_after(ExitReaction reaction, Milliseconds ready_for, double dice) {
  if (ready_for >= settings_.healthy_after) attempts_ = crashes_ = 0;
  if (reaction == ExitReaction::stay_down) return settings_.max;
  if (reaction == ExitReaction::replace && ready_for >= kShortestGoodLife) return Milliseconds{0};

  if (reaction != ExitReaction::try_later) ++crashes_;
  const double longest = std::min(
      static_cast<double>(settings_.max.count()),
      static_cast<double>(settings_.base.count()) * std::pow(settings_.factor, attempts_)
  );
  ++attempts_;
  return Milliseconds{static_cast<Milliseconds::rep>(longest * dice)};
}

bool SpawnBudget::take(Clock::time_point now) {
  const std::chrono::duration<double> passed = now - filled_at_;
  filled_at_ = now;
  tokens_ = std::min(per_second_, tokens_ + passed.count() * per_second_);
  if (tokens_ < 1) return false;
  tokens_ -= 1;
  return true;
}

}  // namespace pgflow::supervisor
