// The nearest known name to a mistyped one.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace pgflow {

// The candidate with the fewest edits (a swap of neighbours is one edit; case counts as nothing),
// if it is near enough to be meant.
std::optional<std::string> did_you_mean(std::string_view given, std::span<const std::string> known);

// "Did you mean "max_concurrent"?", or empty.
std::string did_you_mean_hint(std::string_view given, std::span<const std::string> known);

}  // namespace pgflow
