// Readiness of a file descriptor that somebody else owns.
#pragma once

#include <functional>

#include "uv/handle.hpp"

namespace pgflow::uv {

struct Ready {
  bool readable = false;
  bool writable = false;
  bool failed = false;  // the kernel refuses to watch it any longer: read it and find out
};

class Poll {
 public:
  // Destroy the Poll before the descriptor is closed: a reused number would deliver a stranger's
  // events.
  Poll(Loop& loop, int fd, std::function<void(Ready)> on_ready);
  Poll(const Poll&) = delete;
  Poll& operator=(const Poll&) = delete;

  void watch(bool readable, bool writable);
  void stop();

 private:
  static void on_poll(uv_poll_t* handle, int status, int events) noexcept;

  Loop& loop_;
  std::function<void(Ready)> on_ready_;
  int events_ = 0;  // what is watched; starting anew costs two system calls
  Handle<uv_poll_t> handle_;
};

}  // namespace pgflow::uv
