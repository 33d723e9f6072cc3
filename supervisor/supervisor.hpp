// Runs the pools of a config file: compiles each flow once, keeps one process a slot alive, gives
// a dead worker's tasks back, and leaves nothing behind when it stops.
#pragma once

#include <functional>

#include "base/unique_fd.hpp"
#include "settings/settings.hpp"
#include "supervisor/snapshot.hpp"

namespace pgflow::supervisor {

struct SupervisorOptions {
  // Told after every change, on the supervisor's own thread; changes of one moment come as one.
  std::function<void(const Snapshot&)> observer{};
  // A database that does not answer at the start ends it with 69, instead of being waited for.
  bool require_database = false;
  // Of the state folder, for a caller that took it before it did anything else; empty: it is taken.
  UniqueFd lock{};
};

// Blocks until stopped by TERM, INT or QUIT, which it handles itself; SIGPIPE is ignored from then
// on. `settings` are checked ones with a database URL. Tells on stderr why a start fails. Returns
// the exit code: 0 stopped as asked, 1 stopped at once, else a reason from base/exit_code.hpp.
//
// The program that calls this must run exec_shim_main for `__exec` (base/exec_shim.hpp): workers
// are started through it.
int run_supervisor(settings::Settings settings, SupervisorOptions options = {});

}  // namespace pgflow::supervisor
