// JSON number texts as C++ numbers, exact or not at all.
#pragma once

#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>
#include <system_error>

namespace pgflow::json {

// Nothing for a number that no double can hold (too large).
inline std::optional<double> real(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) {
    return std::nullopt;
  }
  return value;
}

// 1e3 and 2.0 are integers too, up to 2^53: beyond it a double would hide that the value was not
// exact.
template <class Int>
std::optional<Int> integer(std::string_view text) {
  Int value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc{} && end == text.data() + text.size()) {
    return value;
  }
  if (text.find_first_of(".eE") == text.npos) {
    return std::nullopt;
  }
  constexpr double kExact = 9007199254740992.0;
  const std::optional<double> wide = real(text);
  if (!wide || *wide != std::floor(*wide) || std::fabs(*wide) > kExact ||
      (*wide < 0 && std::is_unsigned_v<Int>)) {
    return std::nullopt;
  }
  return static_cast<Int>(*wide);
}

}  // namespace pgflow::json
