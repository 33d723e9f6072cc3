// How our processes end: a contract between worker, supervisor, operator and service manager.
#pragma once

#include <string_view>

namespace pgflow {

enum class ExitCode : int {
  ok = 0,                 // drained, or stopped as asked
  forced = 1,             // an immediate stop was asked for
  usage = 64,             // bad command line
  bad_definition = 65,    // flow definition unusable
  unavailable = 69,       // database unreachable at start
  internal = 70,          // a bug of ours
  os_error = 71,          // the operating system refused, a file or a folder for example
  locked = 73,            // lock held
  temporary = 75,         // the database is gone for now
  no_permission = 77,     // not allowed to
  config = 78,            // config invalid, or shape, mode or routes differ from the database
  fenced = 79,            // fenced or deprecated by the database: stay down until unfenced
  recycle = 80,           // task count, age or memory reached: replace me now
  orphaned = 81,          // drained after the supervisor vanished
  handler_stuck = 82,     // a handler ignored its deadline and its cancellation
  killed_by_signal = 128  // plus the signal's number, as shells report it
};

constexpr int number(ExitCode code) {
  return static_cast<int>(code);
}

// "drained", "bad command line"…; codes that are none of ours are "unknown", 129…192 "killed by a
// signal".
std::string_view exit_code_name(int code) noexcept;

}  // namespace pgflow
