#include "supervisor/admission.hpp"

#include <algorithm>
#include <chrono>

namespace pgflow::supervisor {
namespace {

constexpr std::chrono::milliseconds kPause{100};
constexpr int kMostAtOnce = 64;

}  // namespace

Admission::Admission(uv::Loop& loop, std::function<bool(WorkerId)> admit)
    : admit_(std::move(admit)), timer_(loop, [this] { next(); }) {}

void Admission::want(WorkerId worker_id) {
  if (std::ranges::find(waiting_, worker_id) != waiting_.end()) return;
  waiting_.push_back(worker_id);
  if (open_ && !timer_.is_running()) next();
}

void Admission::open() {
  open_ = true;
  at_once_ = 1;
  next();
}

void Admission::close() {
  open_ = false;
  timer_.stop();
}

void Admission::next() {
  if (waiting_.empty()) return;
  for (int admitted = 0; admitted < at_once_ && !waiting_.empty();) {
    const WorkerId worker_id = waiting_.front();
    waiting_.pop_front();
    if (admit_(worker_id)) ++admitted;
  }
  at_once_ = std::min(at_once_ * 2, kMostAtOnce);
  timer_.start(kPause);
}

}  // namespace pgflow::supervisor
