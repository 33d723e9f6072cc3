// Durations and sizes as the config file writes them: "250ms", "25s", "1.5m", "1h"; "512MiB",
// "1GiB".
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pgflow::settings {

std::optional<std::chrono::milliseconds> parse_duration(std::string_view text);
std::string duration_text(std::chrono::milliseconds duration);

// In bytes. Only zero needs no unit.
std::optional<std::int64_t> parse_size(std::string_view text);
std::string size_text(std::int64_t bytes);

}  // namespace pgflow::settings
