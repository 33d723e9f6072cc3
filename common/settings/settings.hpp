// The config file as plain structs with their defaults; const after load().
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pgflow::settings {

using Milliseconds = std::chrono::milliseconds;

// Where a value stands in the config file, so that a later check can still point at it.
struct Position {
  int line = 0;  // from 1; 0: not from the file
  int column = 0;
};

struct LogSettings {
  std::string level = "info";   // debug | info | warn | error
  std::string format = "auto";  // json | simple | fancy; auto: fancy on a terminal, else simple
};

struct ControlSettings {
  std::filesystem::path socket;  // default: control.sock in state_dir
  unsigned mode = 0600;
};

struct HealthSettings {
  std::string listen;  // empty: no TCP
  std::string token;   // empty: read-only
  std::vector<std::string> hosts;
};

enum class ExitWhen { never, any_required_failed, all_failed };

struct SupervisorSettings {
  std::string name;                 // default: the host's name
  std::filesystem::path state_dir;  // default: .pgflow beside the config file
  Milliseconds shutdown_deadline{25'000};
  Milliseconds kill_margin{5'000};
  int max_parallel_starts = 0;  // default: number of cores
  int max_spawns_per_second = 10;
  ExitWhen exit_when = ExitWhen::never;
  ControlSettings control;
  HealthSettings health;
  LogSettings log;
};

struct DatabaseSettings {
  std::string url;         // empty only with `embedded`
  std::string url_source;  // where `url` came from, for people: "config.json", "DATABASE_URL", …
  // All connections of this supervisor and its workers. 80 leaves room in PostgreSQL's default 100.
  int max_connections = 80;
  Milliseconds connect_timeout{5'000};
  bool embedded = false;
};

struct RestartSettings {
  Milliseconds base{250};
  double factor = 2;
  Milliseconds max{30'000};
  Milliseconds healthy_after{60'000};
  int budget_crashes = 10;
  Milliseconds budget_per{120'000};
  Milliseconds probe_every{60'000};
};

// When a worker is replaced by a fresh one; 0: never.
struct RecycleSettings {
  int max_tasks = 0;
  Milliseconds max_age{0};
  std::int64_t max_rss = 0;  // bytes
};

struct DefaultSettings {
  Milliseconds start_timeout{30'000};
  Milliseconds watchdog{10'000};
  RestartSettings restart;
  RecycleSettings recycle;
  std::int64_t hard_memory = 0;  // bytes; 0: no limit
};

struct WorkerProgram {
  std::vector<std::string> command;                      // command[0] is an absolute path
  std::vector<std::pair<std::string, std::string>> env;  // added to ours, in file order
  std::filesystem::path cwd;                             // absolute
  Position command_position;
};

// One pool: the processes that serve one step, or the whole flow in queue mode "flow".
struct StepSettings {
  std::string slug;  // empty in queue mode "flow"
  int processes = 1;
  int max_concurrent = 10;
  bool exclusive = false;  // no worker is started before the last one is gone
  RecycleSettings recycle;
  Position position;
};

enum class QueueMode { flow, step };
std::string_view to_string(QueueMode mode);

struct FlowSettings {
  std::string slug;
  QueueMode queue_mode = QueueMode::step;
  WorkerProgram worker;
  std::vector<StepSettings> steps;
  // Steps that other hosts serve, with their positions.
  std::vector<std::pair<std::string, Position>> elsewhere;
  Position slug_position;
  Position mode_position;
  Position steps_position;
};

// Connections of one supervisor that runs so many workers.
constexpr int connections_for(int processes) {
  return 3 + 2 * processes;
}

struct Settings {
  std::filesystem::path file;  // as the user wrote it, for messages
  SupervisorSettings supervisor;
  DatabaseSettings database;
  DefaultSettings defaults;
  std::vector<FlowSettings> flows;
};

}  // namespace pgflow::settings
