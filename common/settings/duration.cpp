#include "settings/duration.hpp"

#include <charconv>
#include <cmath>
#include <span>
#include <utility>

namespace pgflow::settings {
namespace {

constexpr std::pair<std::string_view, std::int64_t> kUnits[] = {
    {"h", 3'600'000}, {"m", 60'000}, {"s", 1'000}, {"ms", 1}
};
constexpr std::pair<std::string_view, std::int64_t> kSizeUnits[] = {
    {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}
};
constexpr double kMost = 1e15;  // far beyond every limit, far from overflow

using Units = std::span<const std::pair<std::string_view, std::int64_t>>;

std::optional<std::int64_t> parse(std::string_view text, Units units) {
  double amount = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), amount, std::chars_format::fixed);
  if (error != std::errc{} || amount < 0) return std::nullopt;
  const std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  for (const auto& [name, factor] : units) {
    if (unit != name) continue;
    const double total = amount * static_cast<double>(factor);
    if (!(total < kMost)) return std::nullopt;
    return std::llround(total);
  }
  return std::nullopt;
}

// In the greatest unit that needs no fraction.
std::string text_of(std::int64_t amount, Units units, std::string_view zero) {
  for (const auto& [name, factor] : units) {
    if (amount != 0 && amount % factor == 0) {
      return std::to_string(amount / factor) + std::string(name);
    }
  }
  return std::string(zero);
}

}  // namespace

std::optional<std::chrono::milliseconds> parse_duration(std::string_view text) {
  const auto count = parse(text, kUnits);
  if (!count) return std::nullopt;
  return std::chrono::milliseconds(*count);
}

std::string duration_text(std::chrono::milliseconds duration) {
  return text_of(duration.count(), kUnits, "0s");
}

std::optional<std::int64_t> parse_size(std::string_view text) {
  if (text == "0") return 0;
  return parse(text, kSizeUnits);
}

std::string size_text(std::int64_t bytes) {
  return text_of(bytes, kSizeUnits, "0");
}

}  // namespace pgflow::settings
