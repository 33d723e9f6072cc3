#include "supervisor/crash_budget.hpp"

namespace pgflow::supervisor {

bool CrashBudget::crashed(SteadyClock::time_point now) {
  tasks_ = 0;
  crashes_.push_back(now);
  while (now - crashes_.front() > settings_.budget_per) crashes_.pop_front();
  if (open_ || static_cast<int>(crashes_.size()) < settings_.budget_crashes) return false;
  open_ = true;
  next_probe_ = now + settings_.probe_every;
  return true;
}

bool CrashBudget::take_probe(SteadyClock::time_point now) {
  if (!open_ || now < next_probe_) return false;
  next_probe_ = now + settings_.probe_every;
  return true;
}

void CrashBudget::task_ended() {
  if (open_ && ++tasks_ >= kTasksThatProve) close();
}

void CrashBudget::lives(Milliseconds ready_for) {
  if (open_ && ready_for >= settings_.healthy_after) close();
}

void CrashBudget::close() {
  open_ = false;
  crashes_.clear();
}

}  // namespace pgflow::supervisor
