// Tells the database every 2 seconds that this worker lives, on a connection of its own, and hears
// what the database thinks of it.
#pragma once

#include <chrono>
#include <functional>

#include "base/strong.hpp"
#include "store/worker_store.hpp"
#include "worker/link.hpp"

namespace pgflow::worker {

enum class Pulse {
  deprecated,  // the database wants no more claims from us
  disowned,    // our row is gone or stopped: others may hold our tasks
};

class Heartbeat {
 public:
  Heartbeat(
      uv::Loop& loop,
      pg::ConnectionOptions options,
      WorkerId worker_id,
      std::function<void(Pulse)> on_pulse
  );

  void start();  // the worker is registered
  void stop();

  // Since the database last heard of us.
  std::chrono::milliseconds silence() const;

 private:
  void beat();

  const WorkerId worker_id_;
  const std::function<void(Pulse)> on_pulse_;
  Link link_;
  uv::Timer timer_;
  SteadyClock::time_point last_;
  bool asking_ = false;
};

}  // namespace pgflow::worker
