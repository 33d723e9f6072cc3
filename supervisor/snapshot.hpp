// What a supervisor knows about itself at one moment, as plain values for whoever shows it.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "supervisor/slot_state.hpp"

namespace pgflow::supervisor {

enum class Phase {
  starting,  // locks, descriptions, database, compilation
  running,
  stopping,
  stopped,
};
std::string_view to_string(Phase phase);

struct ExitView {
  WallClock::time_point time;
  std::string worker_id;
  int pid = 0;
  int code = 0;    // when signal is 0
  int signal = 0;  // 0: it ended by itself
  std::string reason;
  int in_flight = 0;
  std::chrono::milliseconds uptime{};
};

struct SlotView {
  int number = 0;  // from 1 within its pool
  SlotState state = SlotState::down;
  bool wanted_up = false;
  std::string worker_id;  // empty without a process
  int pid = 0;            // 0 without a process
  int in_flight = 0;
  std::chrono::milliseconds uptime{};  // of the process
  int crashes = 0;                     // since the last healthy worker
  std::optional<ExitView> last_exit;
};

struct PoolView {
  std::string flow_slug;
  std::string step_slug;  // empty in queue mode "flow"
  std::string queue_name;
  int max_concurrent = 0;
  std::string failure;  // not empty: permanent, no further starts
  std::vector<SlotView> slots;
};

struct FlowView {
  std::string slug;
  std::string queue_mode;
  std::string compiled;  // "compiled", "verified", "recompiled"; empty: not yet
  int queues = 0;
};

struct Snapshot {
  Phase phase = Phase::starting;
  bool database_up = false;
  int pending_releases = 0;  // dead workers whose tasks are not given back yet
  std::vector<FlowView> flows;
  std::vector<PoolView> pools;
};

}  // namespace pgflow::supervisor
