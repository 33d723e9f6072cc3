// Reads a config file: all of its problems at once, or settings that need no further checking.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "settings/problem.hpp"

namespace pgflow::settings {

// Flags win over the environment, the environment over the file.
struct Overrides {
  std::optional<std::string> database_url;
};

struct LoadError {
  int exit_code = 0;              // 66: no such file; 78: invalid
  std::vector<Problem> problems;  // in file order, never empty
};

tl::expected<Settings, LoadError> load(
    const std::filesystem::path& file, const Overrides& overrides = {}
);

// For commands that only look at the database: which one the file names, an empty URL when it names
// none. What the workers would need (programs, their environment) is not asked for.
tl::expected<DatabaseSettings, LoadError> load_database(const std::filesystem::path& file);

// For commands that talk to a running supervisor: where it listens.
tl::expected<SupervisorSettings, LoadError> load_supervisor(const std::filesystem::path& file);

// The second half of validation, for which the worker program must have been asked: the config's
// steps against the flow's own. A step that nobody serves is a warning.
std::vector<Problem> check_steps(
    const Settings& settings,
    const FlowSettings& flow,
    QueueMode described_mode,
    std::span<const std::string> described_steps
);

}  // namespace pgflow::settings
