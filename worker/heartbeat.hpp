// Tells the database every 2 seconds that this worker lives, on a connection of its own, and hears
// what the database thinks of it and of the tasks in its hands; hears of new work on the way.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/strong.hpp"
#include "store/wake_listener.hpp"
#include "store/worker_store.hpp"
#include "worker/link.hpp"

namespace pgflow::worker {

enum class Pulse {
  deprecated,  // the database wants no more claims from us
  disowned,    // our row is gone or stopped: others may hold our tasks
};

class Heartbeat {
 public:
  struct Events {
    std::function<void(Pulse)> pulse;
    // Whose handlers run; asked before each heartbeat.
    std::function<std::vector<store::TaskInHand>()> in_hand;
    // One of them is not ours any more.
    std::function<void(store::TaskInHand)> lost;
    // As Link::Events::ask.
    std::function<void()> ask;
    // There may be work in a queue, by its name. Empty: nobody listens.
    std::function<void(std::string_view)> wake;
  };

  Heartbeat(uv::Loop& loop, pg::ConnectionOptions options, WorkerId worker_id, Events events);

  // The worker is registered. After `limit` of silence nobody counts on it any more.
  void start(std::chrono::milliseconds limit);
  void stop();
  void admit() { link_.admit(); }

  // The database has not heard of us for longer than that.
  bool unheard() const { return silence() > limit_; }
  // How many were tried; moves also while the database is away.
  std::uint64_t beats() const { return beats_; }

 private:
  std::chrono::milliseconds silence() const;
  void beat();
  void tell_when_unheard();

  const WorkerId worker_id_;
  const Events events_;
  Link link_;
  std::optional<store::WakeListener> ears_;
  uv::Timer timer_;
  std::chrono::milliseconds limit_{0};
  SteadyClock::time_point last_;  // when the database last heard of us
  bool told_unheard_ = false;
  std::uint64_t beats_ = 0;
  bool asking_ = false;
};

}  // namespace pgflow::worker
