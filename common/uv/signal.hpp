// A POSIX signal as an event of the loop.
#pragma once

#include <functional>

#include "uv/handle.hpp"

namespace pgflow::uv {

class Signal {
 public:
  // Watches from now on. A watched signal alone does not keep the loop running.
  Signal(Loop& loop, int number, std::function<void(int)> on_signal);
  Signal(const Signal&) = delete;
  Signal& operator=(const Signal&) = delete;

 private:
  static void on_signal(uv_signal_t* handle, int number) noexcept;

  Loop& loop_;
  std::function<void(int)> on_signal_;
  Handle<uv_signal_t> handle_;
};

}  // namespace pgflow::uv
