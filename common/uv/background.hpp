// Runs a blocking call (name resolution, a cancel request) in libuv's thread pool and answers on
// the loop.
#pragma once

#include <functional>

#include "uv/loop.hpp"

namespace pgflow::uv {

class Background {
 public:
  // `job` runs on another thread, `done` afterwards on the loop. Both are always called; the loop's
  // end waits for them, so `done` must not assume that its owner still lives.
  static void run(Loop& loop, std::function<void()> job, std::function<void()> done);
};

}  // namespace pgflow::uv
