// What the supervisor does about a worker's exit code.
#pragma once

namespace pgflow::contract {

enum class ExitReaction {
  replace,    // by order, or the worker's own wish: start another, nothing is counted
  crash,      // start another after the back-off
  try_later,  // the world's fault, not the worker's: the same back-off, not counted as a crash
  give_up,    // no restart can help: the pool fails
  stay_down,  // not now: the database refuses this function, or what worked before cannot start any
              // more: look again after the longest back-off
};

// For an exit by code; a death by signal is a crash, or our own kill.
ExitReaction reaction_to_exit(int exit_code) noexcept;

}  // namespace pgflow::contract
