// The verbs: what each gets from the command line, and what it gives back.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "base/result.hpp"
#include "supervisor/terminal.hpp"

namespace pgflow::cli {

// How the program ends (docs/cli/README.md): sysexits for failures, timeout(1)'s 124.
enum class Exit : int {
  ok = 0,
  negative = 1,  // not covered, a run failed
  usage = 64,
  bad_data = 65,
  not_found = 66,
  unavailable = 69,
  internal = 70,
  os_error = 71,
  cannot_create = 73,  // files in the way; another supervisor holds the lock
  temporary = 75,
  no_permission = 77,
  config = 78,
  timeout = 124,
};

struct Failure {
  Exit exit;
  Error error;
};

template <class T>
using Outcome = tl::expected<T, Failure>;

// The exit code that an error of a library or of the database deserves.
Failure failure(Error error);

// A failure that a verb itself found.
inline tl::unexpected<Failure> refuse(
    Exit exit, std::string message, std::string detail = {}, std::string hint = {}
) {
  return tl::unexpected(
      Failure{exit, {"command", std::move(message), std::move(detail), std::move(hint)}}
  );
}

// jsonl: one object a line, for lists and for what goes on.
enum class Output { text, json, jsonl };

// What all verbs share.
struct Common {
  Output output = Output::text;
  std::optional<std::string> database_url;      // -d
  std::optional<std::filesystem::path> config;  // -c, PGFLOW_CONFIG
  std::optional<std::filesystem::path> socket;  // --socket, PGFLOW_SOCKET
  Style out{wants_colour(1)};                   // paints stdout
  Style err{wants_colour(2)};                   // paints stderr
};

using Timeout = std::optional<std::chrono::milliseconds>;

struct InitArguments {
  std::filesystem::path folder = ".";
  std::string lang = "cpp";
};
Outcome<Exit> init(const Common& common, const InitArguments& arguments);

struct DevArguments {
  bool ephemeral = false;
};
Outcome<Exit> dev(const Common& common, const DevArguments& arguments);

struct UpArguments {
  bool require_database = false;
};
Outcome<Exit> up(const Common& common, const UpArguments& arguments);

// --- orders to a running supervisor

struct WaitArguments {
  bool wait = false;
  Timeout timeout{};
};

struct PoolArguments {
  std::vector<std::string> pools;  // FLOW/STEP, STEP or FLOW
  bool all = false;
};

struct ScaleArguments {
  std::vector<std::string> pools;  // [FLOW/]STEP=N[xC]
  bool reset = false;
  Timeout ttl;
  WaitArguments waiting;
};
Outcome<Exit> scale(const Common& common, const ScaleArguments& arguments);

struct PauseArguments {
  PoolArguments pools;
  std::string reason;
  WaitArguments waiting;
};
Outcome<Exit> pause(const Common& common, const PauseArguments& arguments);

struct DrainArguments {
  std::vector<std::string> pools;  // none: all
  bool wait = false;
  Timeout timeout;  // after it tasks are given back
};
Outcome<Exit> drain(const Common& common, const DrainArguments& arguments);

struct ResumeArguments {
  PoolArguments pools;
  WaitArguments waiting;
};
Outcome<Exit> resume(const Common& common, const ResumeArguments& arguments);
Outcome<Exit> restart(const Common& common, const ResumeArguments& arguments);

struct StopArguments {
  std::vector<std::string> pools;  // none: the supervisor
  WaitArguments waiting;
};
Outcome<Exit> stop(const Common& common, const StopArguments& arguments);

// `probe`: minimal or complete.
Outcome<Exit> healthcheck(const Common& common, const std::string& probe);
Outcome<Exit> top(const Common& common);
Outcome<Exit> metrics(const Common& common);

struct LogsArguments {
  std::optional<std::string> whose;  // [FLOW/]STEP, FLOW, or the beginning of a worker id
  bool follow = false;
  int lines = 100;
};
Outcome<Exit> logs(const Common& common, const LogsArguments& arguments);

struct StatusArguments {
  std::optional<std::string> flow;
};
Outcome<Exit> status(const Common& common, const StatusArguments& arguments);

struct CoverageArguments {
  std::vector<std::string> flows;
  bool wait = false;
  Timeout timeout;
};
Outcome<Exit> coverage(const Common& common, const CoverageArguments& arguments);

struct RunStartArguments {
  std::string flow;
  std::string input = "{}";  // JSON, @file, or - for stdin
  bool each_line = false;
  bool wait = false;
  Timeout timeout;
};
Outcome<Exit> run_start(const Common& common, const RunStartArguments& arguments);

// `run` is a run id, or enough of its beginning.
Outcome<Exit> run_show(const Common& common, const std::string& run);

struct RunWaitArguments {
  std::vector<std::string> runs;
  Timeout timeout;
};
Outcome<Exit> run_wait(const Common& common, const RunWaitArguments& arguments);

struct RunListArguments {
  std::optional<std::string> flow;
  std::optional<std::string> status;
  int limit = 20;
};
Outcome<Exit> run_list(const Common& common, const RunListArguments& arguments);

struct RunRerunArguments {
  std::string run;
  std::optional<std::string> input;  // instead of the earlier run's
  bool wait = false;
  Timeout timeout;
};
Outcome<Exit> run_rerun(const Common& common, const RunRerunArguments& arguments);

struct RunCancelArguments {
  std::vector<std::string> runs;
  std::optional<std::string> flow;  // all its started runs
  std::string status = "started";   // said for clarity: no other can be cancelled
  std::optional<std::string> reason;
  bool yes = false;
};
Outcome<Exit> run_cancel(const Common& common, const RunCancelArguments& arguments);

struct RunTailArguments {
  std::string run;
  Timeout timeout;
};
Outcome<Exit> run_tail(const Common& common, const RunTailArguments& arguments);

struct TaskListArguments {
  std::string run;
  std::optional<std::string> status;
};
Outcome<Exit> task_list(const Common& common, const TaskListArguments& arguments);

struct TaskRequeueArguments {
  std::optional<std::string> run;
  std::optional<std::string> flow;
  bool all = false;
};
Outcome<Exit> task_requeue(const Common& common, const TaskRequeueArguments& arguments);

Outcome<Exit> queue_list(const Common& common);
Outcome<Exit> queue_show(const Common& common, const std::string& queue);

struct QueuePeekArguments {
  std::string queue;
  int count = 5;
};
Outcome<Exit> queue_peek(const Common& common, const QueuePeekArguments& arguments);

Outcome<Exit> worker_list(const Common& common, bool all);
// `worker` is a worker id, or enough of its beginning.
Outcome<Exit> worker_show(const Common& common, const std::string& worker);

struct FenceArguments {
  std::vector<std::string> targets;  // FLOW or FLOW/STEP
  std::string reason;
  std::optional<std::string> owner;
  bool wait = false;
  Timeout timeout;
};
Outcome<Exit> fence(const Common& common, const FenceArguments& arguments);
Outcome<Exit> fence_list(const Common& common, bool all);

struct UnfenceArguments {
  std::vector<std::string> targets;  // fence ids, FLOW or FLOW/STEP
  std::optional<std::string> token;
  bool force = false;
  std::optional<std::string> reason;
};
Outcome<Exit> unfence(const Common& common, const UnfenceArguments& arguments);

struct MigrateArguments {
  bool adopt = false;       // up
  std::optional<int> from;  // sql
  std::optional<int> to;    // down, sql
};
Outcome<Exit> migrate_up(const Common& common, const MigrateArguments& arguments);
Outcome<Exit> migrate_down(const Common& common, const MigrateArguments& arguments);
Outcome<Exit> migrate_status(const Common& common);
Outcome<Exit> migrate_sql(const MigrateArguments& arguments);
Outcome<Exit> migrate_validate(const Common& common);

Outcome<Exit> sql(const std::string& name);

Outcome<Exit> db_url(const Common& common);

Outcome<Exit> config_check(const Common& common, const std::filesystem::path& file);

struct ConfigShowArguments {
  bool effective = false;  // defaults and what wins over the file, too
};
Outcome<Exit> config_show(const Common& common, const ConfigShowArguments& arguments);
Outcome<Exit> config_schema();

Outcome<Exit> doctor(const Common& common);

Outcome<Exit> version(const Common& common);

}  // namespace pgflow::cli
