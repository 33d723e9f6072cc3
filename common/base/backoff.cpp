// Full jitter: the pause is drawn from the whole range, not added on top of it.
#include "base/backoff.hpp"

#include <algorithm>
#include <memory>
#include <random>

namespace pgflow {

Backoff::Milliseconds Backoff::next() {
  constexpr int kMostDoublings = 40;  // far above any cap, far below overflow
  const int doublings = std::min(failures_++, kMostDoublings);
  const auto ceiling = std::min(limits_.most, limits_.first * (std::int64_t{1} << doublings));
  const auto range = std::max(Milliseconds(0), ceiling - limits_.least);
  const double drawn = random_() * static_cast<double>(range.count());
  return limits_.least + Milliseconds(static_cast<std::int64_t>(drawn));
}

Backoff::Random Backoff::system_random() {
  auto engine = std::make_shared<std::mt19937_64>(std::random_device{}());
  return [engine] { return std::uniform_real_distribution<double>(0.0, 1.0)(*engine); };
}

}  // namespace pgflow
