// Optimal string alignment distance over ASCII-lowercased names.
#include "base/did_you_mean.hpp"

#include <algorithm>
#include <vector>

namespace pgflow {
namespace {

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

std::size_t edits(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t differs = lower(a[i - 1]) == lower(b[j - 1]) ? 0 : 1;
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + differs});
      const bool swapped = i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
                           lower(a[i - 2]) == lower(b[j - 1]);
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

}  // namespace

std::optional<std::string> did_you_mean(
    std::string_view given, std::span<const std::string> known
) {
  const std::string* best = nullptr;
  std::size_t best_edits = 1 + std::max<std::size_t>(1, given.size() / 3);
  for (const std::string& name : known) {
    const std::size_t n = edits(given, name);
    if (n < best_edits) {
      best = &name;
      best_edits = n;
    }
  }
  return best == nullptr ? std::nullopt : std::optional(*best);
}

std::string did_you_mean_hint(std::string_view given, std::span<const std::string> known) {
  const auto meant = did_you_mean(given, known);
  return meant ? "Did you mean \"" + *meant + "\"?" : std::string();
}

}  // namespace pgflow
