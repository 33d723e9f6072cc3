// Tells the service manager how the supervisor is (sd_notify's protocol); silent without one.
#pragma once

#include <string>
#include <string_view>

#include "base/unique_fd.hpp"
#include "supervisor/snapshot.hpp"
#include "uv/loop.hpp"
#include "uv/timer.hpp"

namespace pgflow::supervisor {

class Notifier {
 public:
  // Takes NOTIFY_SOCKET and WATCHDOG_USEC out of the environment: workers have no business there.
  explicit Notifier(uv::Loop& loop);
  Notifier(const Notifier&) = delete;
  Notifier& operator=(const Notifier&) = delete;

  bool is_wanted() const { return !path_.empty(); }
  void show(const Snapshot& now);

 private:
  void send(std::string_view line);
  void extend();

  std::string path_;  // empty: nobody wants to know
  UniqueFd fd_;
  uv::Timer watchdog_timer_;
  uv::Timer extend_timer_;  // while stopping
  std::string unsent_;
  std::string status_;
  bool ready_ = false;
  bool stopping_ = false;
};

}  // namespace pgflow::supervisor
