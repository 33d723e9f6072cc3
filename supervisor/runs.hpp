// Runs by their ids: found by a beginning, watched until they end.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "supervisor/commands/command.hpp"
#include "supervisor/database.hpp"
#include "supervisor/views.hpp"

namespace pgflow::cli {

// The one run whose id begins like this; 64 when it is no id or fits several, 66 when it fits none.
Outcome<std::string> resolve_run(Database& database, std::string_view beginning);

// Reports progress on stderr until all runs have ended or the time is over; prints the last states
// as data. ok, negative when a run failed, timeout.
Outcome<Exit> watch_runs(
    const Common& common,
    Database& database,
    const std::vector<std::string>& run_ids,
    Timeout timeout
);

// Prints the states of runs as they are now.
Outcome<Exit> print_run_states(
    const Common& common, Database& database, const std::vector<std::string>& run_ids
);

// "2026-11-30 07:15:44" of PostgreSQL's JSON form of a timestamptz.
std::string time_text(std::string_view timestamp);

}  // namespace pgflow::cli
