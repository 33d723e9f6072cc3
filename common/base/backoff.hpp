// How long to wait before trying again: exponential, capped, with full jitter, so that many
// retriers spread out.
#pragma once

#include <chrono>
#include <functional>

namespace pgflow {

class Backoff {
 public:
  using Milliseconds = std::chrono::milliseconds;
  using Random = std::function<double()>;  // uniform in [0, 1)

  struct Limits {
    Milliseconds first{250};
    Milliseconds most{30'000};
    Milliseconds least{0};  // floor below the jitter; 0 is full jitter
  };

  explicit Backoff(Limits limits, Random random = system_random())
      : limits_(limits), random_(std::move(random)) {}
  Backoff() : Backoff(Limits{}) {}

  // The next pause: uniform between `least` and min(most, first * 2^failures).
  Milliseconds next();
  void reset() { failures_ = 0; }
  int failures() const { return failures_; }

  static Random system_random();

 private:
  Limits limits_;
  Random random_;
  int failures_ = 0;
};

}  // namespace pgflow
