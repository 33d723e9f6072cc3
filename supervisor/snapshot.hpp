// What a supervisor knows about itself at one moment, as plain values for whoever shows it.
#pragma once

#include <chrono>
#include <cstdint>
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

// Why a process ended, as far as its parent can know.
struct ExitView {
  WallClock::time_point time;
  std::string flow_slug;
  std::string step_slug;
  int slot = 0;
  std::string worker_id;
  int pid = 0;
  int code = 0;        // when signal is 0
  int signal = 0;      // 0: it ended by itself
  std::string reason;  // a stable word: "crash_signal", "external_kill", "hung", "drained", …
  std::string text;    // for people
  int in_flight = 0;
  std::int64_t rss_bytes = 0;  // as last heard
  std::chrono::milliseconds uptime{};
  std::vector<std::string> last_output{};  // of one that did not end by order; the oldest first
};

// One line that a worker has written to its standard output or standard error.
struct WorkerLine {
  WallClock::time_point time{};
  std::string flow_slug{};
  std::string step_slug{};
  int slot = 0;
  std::string worker_id{};
  std::string text{};
};

struct SlotView {
  int number = 0;  // from 1 within its pool
  SlotState state = SlotState::down;
  bool wanted_up = false;
  std::string worker_id;  // empty without a process
  int pid = 0;            // 0 without a process
  int in_flight = 0;
  std::int64_t rss_bytes = 0;                 // of the process, as last heard
  std::int64_t tasks_done = 0;                // by the process
  std::chrono::milliseconds uptime{};         // of the process
  std::chrono::milliseconds next_start_in{};  // in state backoff
  int crashes = 0;                            // since the last healthy worker
  std::optional<ExitView> last_exit;
};

// Why a pool has the workers it has; the first that applies.
enum class PoolState {
  failed,        // permanent: no restart can help
  fenced,        // the database says that its function may not run
  paused,        // an operator says so
  zero,          // no process is wanted
  crashlooping,  // too many crashes: one probe at a time
  active,
};
std::string_view to_string(PoolState state);

struct PoolView {
  std::string flow_slug;
  std::string step_slug;  // empty in queue mode "flow"
  std::string queue_name;
  PoolState state = PoolState::active;
  std::string reason;  // why it is failed, fenced or paused
  // What is wanted now, and what the config file says: they differ under an override.
  int processes = 0;
  int max_concurrent = 0;
  int file_processes = 0;
  int file_max_concurrent = 0;
  std::optional<std::chrono::milliseconds> override_ends_in;  // of an override with an end
  std::vector<SlotView> slots;  // those that are wanted and those that still have a process
};

struct FlowView {
  std::string slug;
  std::string queue_mode;
  std::string compiled;  // "compiled", "verified", "recompiled"; empty: not yet
  int queues = 0;
};

// A fence that stands around functions that this supervisor runs.
struct FenceView {
  std::string fence_id;
  std::vector<std::string> function_names;
  std::string owner;
  std::string reason;
};

struct Snapshot {
  std::string name;
  std::string generation;  // one supervisor start
  int pid = 0;
  std::string config_file;
  std::chrono::milliseconds uptime{};
  Phase phase = Phase::starting;
  bool was_ready = false;  // every pool that is wanted was, once
  bool database_up = false;
  std::string database_error;                // why it is not up
  std::chrono::milliseconds database_for{};  // since it is up or not
  int database_version = 0;                  // 150004 is 15.4
  int pending_releases = 0;                  // dead workers whose tasks are not given back yet
  std::vector<FlowView> flows;
  std::vector<PoolView> pools;
  std::vector<FenceView> fences;
  std::vector<ExitView> exits;  // the last 50, the newest first
};

}  // namespace pgflow::supervisor
