// Hears that there may be new work in a queue, or another fence, where the connection carries
// notifications.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "pg/connection.hpp"
#include "uv/timer.hpp"

namespace pgflow::store {

// Listens on the channel pgflow_wake, whose payload is a queue's name. Wake-ups shorten a wait,
// nothing depends on them: where they cannot arrive it says so once. A pooler gives itself away by
// another backend's pid than the one that libpq was told (a notification to oneself proves nothing
// there: it comes back within its own transaction); for the rest there is such a notification.
class WakeListener {
 public:
  WakeListener(
      uv::Loop& loop,
      pg::Connection& connection,
      std::function<void(std::string_view queue_name)> on_wake
  );
  WakeListener(const WakeListener&) = delete;
  WakeListener& operator=(const WakeListener&) = delete;

  // For who wants to hear that a fence was put up or lifted, too (channel pgflow_fences); before
  // listen().
  void on_fence(std::function<void()> on_fence) { on_fence_ = std::move(on_fence); }

  // The connection is up, or up again.
  void listen();
  // The connection is down.
  void forget();

  bool hears() const { return hears_; }

 private:
  void heard(std::string_view channel, std::string_view payload);
  void deaf(std::string_view why);

  pg::Connection& connection_;
  const std::function<void(std::string_view)> on_wake_;
  std::function<void()> on_fence_;
  const std::string token_;
  uv::Timer test_timer_;
  bool hears_ = false;
  bool told_deaf_ = false;
};

}  // namespace pgflow::store
