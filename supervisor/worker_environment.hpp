// The variables that a worker program gets.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "settings/settings.hpp"

namespace pgflow::supervisor {

// `defaults`, then ours, then the config's, then `more`: a later one replaces an earlier one of the
// same name. What belongs to the contract is never inherited, lest a supervisor inside a worker is
// taken for one.
std::vector<std::string> worker_environment(
    const settings::WorkerProgram& program,
    const std::vector<std::pair<std::string, std::string>>& more,
    const std::vector<std::pair<std::string, std::string>>& defaults = {}
);

}  // namespace pgflow::supervisor
