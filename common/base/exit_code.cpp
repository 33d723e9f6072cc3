// The exit codes in words.
#include "base/exit_code.hpp"

namespace pgflow {

std::string_view exit_code_name(int code) noexcept {
  switch (static_cast<ExitCode>(code)) {
    case ExitCode::ok:
      return "stopped as asked";
    case ExitCode::forced:
      return "stopped by force";
    case ExitCode::usage:
      return "bad command line";
    case ExitCode::bad_definition:
      return "flow definition unusable";
    case ExitCode::unavailable:
      return "database unreachable";
    case ExitCode::internal:
      return "internal error";
    case ExitCode::os_error:
      return "operating system error";
    case ExitCode::locked:
      return "lock held";
    case ExitCode::temporary:
      return "database gone for now";
    case ExitCode::no_permission:
      return "permission missing";
    case ExitCode::config:
      return "config invalid or different from the database";
    case ExitCode::fenced:
      return "fenced or deprecated";
    case ExitCode::recycle:
      return "recycle wanted";
    case ExitCode::orphaned:
      return "supervisor vanished";
    case ExitCode::handler_stuck:
      return "handler stuck";
    case ExitCode::killed_by_signal:
      break;
  }
  // As shells report it.
  if (code == 126) return "program not executable";
  if (code == 127) return "program not found";
  const int signals = 64;
  const int first = number(ExitCode::killed_by_signal);
  return code > first && code <= first + signals ? "killed by a signal" : "unknown";
}

}  // namespace pgflow
