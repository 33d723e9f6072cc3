// The worker functions that FLOW or FLOW/STEP on a command line stands for.
#pragma once

#include <string>
#include <vector>

#include "supervisor/commands/command.hpp"
#include "supervisor/database.hpp"

namespace pgflow::cli {

// The functions of all targets, sorted, each once: the one a step's worker has unless it is called
// otherwise, and those whose newest worker serves that step's queue. 66 with a guess for a flow or
// step that is not compiled, 64 for a step of a flow with one queue.
Outcome<std::vector<std::string>> functions_of(
    Database& database, const std::vector<std::string>& targets
);

}  // namespace pgflow::cli
