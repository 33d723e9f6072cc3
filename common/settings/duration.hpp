// Durations as the config file writes them: "250ms", "25s", "1.5m", "1h".
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace pgflow::settings {

std::optional<std::chrono::milliseconds> parse_duration(std::string_view text);
std::string duration_text(std::chrono::milliseconds duration);

}  // namespace pgflow::settings
