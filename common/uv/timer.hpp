// Calls back after a while, once or again and again.
#pragma once

#include <chrono>
#include <functional>

#include "uv/handle.hpp"

namespace pgflow::uv {

class Timer {
 public:
  Timer(Loop& loop, std::function<void()> on_time);
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  // Starting anew replaces the old time. The first call comes after `delay`, then every `repeat` if
  // that is not 0.
  void start(std::chrono::milliseconds delay, std::chrono::milliseconds repeat = {});
  void stop();
  bool is_running() const;

  // The loop may end although this timer runs.
  void unref();

 private:
  static void on_timer(uv_timer_t* handle) noexcept;

  Loop& loop_;
  std::function<void()> on_time_;
  Handle<uv_timer_t> handle_;
};

}  // namespace pgflow::uv
