// What operators have changed against the config file, on disk: it outlives the supervisor.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "base/clock.hpp"
#include "base/result.hpp"

namespace pgflow::supervisor {

// Of one pool; what is absent is as the config file says.
struct Override {
  std::optional<int> processes{};
  std::optional<int> max_concurrent{};
  std::optional<WallClock::time_point> until{};  // of the two above
  std::optional<std::string> paused{};           // why

  bool is_empty() const { return !processes && !max_concurrent && !paused; }
  bool operator==(const Override&) const = default;
};

// By "flow/step", or "flow" in queue mode "flow".
using Overrides = std::map<std::string, Override>;

// No file is no override. One that cannot be read is an error: work that was paused must not start.
Result<Overrides> load_overrides(const std::filesystem::path& file);
// On disk when this returns; after an error the file is as it was.
Result<void> save_overrides(const std::filesystem::path& file, const Overrides& overrides);

}  // namespace pgflow::supervisor
