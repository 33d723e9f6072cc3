#include "settings/duration.hpp"

#include <charconv>
#include <cmath>
#include <utility>

namespace pgflow::settings {
namespace {

constexpr std::pair<std::string_view, std::int64_t> kUnits[] = {
    {"h", 3'600'000}, {"m", 60'000}, {"s", 1'000}, {"ms", 1}
};
constexpr double kMost = 1e15;  // milliseconds; far beyond every limit, far from overflow

}  // namespace

std::optional<std::chrono::milliseconds> parse_duration(std::string_view text) {
  double amount = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), amount, std::chars_format::fixed);
  if (error != std::errc{} || amount < 0) return std::nullopt;
  const std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  for (const auto& [name, milliseconds] : kUnits) {
    if (unit != name) continue;
    const double total = amount * static_cast<double>(milliseconds);
    if (!(total < kMost)) return std::nullopt;
    return std::chrono::milliseconds(std::llround(total));
  }
  return std::nullopt;
}

std::string duration_text(std::chrono::milliseconds duration) {
  for (const auto& [name, milliseconds] : kUnits) {
    if (duration.count() != 0 && duration.count() % milliseconds == 0) {
      return std::to_string(duration.count() / milliseconds) + std::string(name);
    }
  }
  return "0s";
}

}  // namespace pgflow::settings
