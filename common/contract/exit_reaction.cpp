#include "contract/exit_reaction.hpp"

#include "base/exit_code.hpp"

namespace pgflow::contract {

ExitReaction reaction_to_exit(int exit_code) noexcept {
  switch (static_cast<ExitCode>(exit_code)) {
    case ExitCode::ok:
    case ExitCode::recycle:
    case ExitCode::orphaned:
    case ExitCode::handler_stuck:
      return ExitReaction::replace;
    case ExitCode::unavailable:
    case ExitCode::locked:
    case ExitCode::temporary:
      return ExitReaction::try_later;
    case ExitCode::usage:
    case ExitCode::bad_definition:
    case ExitCode::no_permission:
    case ExitCode::config:
      return ExitReaction::give_up;
    case ExitCode::fenced:
      return ExitReaction::stay_down;
    case ExitCode::forced:
    case ExitCode::internal:
    case ExitCode::os_error:
    case ExitCode::killed_by_signal:
      break;
  }
  return ExitReaction::crash;
}

}  // namespace pgflow::contract
