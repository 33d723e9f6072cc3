// Slugs: string literals as template arguments, and the naming rules that compile time, run time
// and SQL share.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace pgflow {

// Characters in a flow or step slug, at most (sql-core 4.1).
inline constexpr std::size_t kMaxSlugLength = 128;
// Characters in a generated queue name, at most. A fixed compatibility limit, not what a server
// happens to allow.
inline constexpr std::size_t kMaxPgmqQueueNameLength = 47;

// A string literal that can be a template argument: step<"classify">.
template <std::size_t N>
struct fixed_string {
  char chars[N]{};  // with its terminator

  // From a literal.
  consteval fixed_string(const char (&text)[N]) {
    for (std::size_t i = 0; i < N; ++i) {
      chars[i] = text[i];
    }
  }
  // The text.
  constexpr std::string_view view() const { return {chars, N - 1}; }
  // The text.
  constexpr operator std::string_view() const { return view(); }
};

// A list of slugs, as a type.
template <fixed_string... S>
struct slugs {
  static constexpr std::size_t size = sizeof...(S);  // how many
};

// A list of types, as a type.
template <class... T>
struct types {
  static constexpr std::size_t size = sizeof...(T);  // how many
};

namespace detail {
template <class... A, class... B>
types<A..., B...> join(types<A...>, types<B...>);
template <class A, class B>
using join_t = decltype(join(A{}, B{}));
}  // namespace detail

// A slug as a value, e.g. "classify"_step.
template <fixed_string S>
struct slug_t {};

inline namespace literals {
// in["classify"_step]: a dependency's output by name, also inside a generic lambda without
// `template`.
template <fixed_string S>
consteval slug_t<S> operator""_step() {
  return {};
}
}  // namespace literals

// What breaks the rules of check_slug.
enum class SlugProblem {
  none,
  empty,
  too_long,
  reserved,
  leading_digit,
  bad_character,
  leading_underscore,
  trailing_underscore,
  double_underscore,
};

// The rules of sql-core 4.1, for flows and steps alike. ASCII only, whatever the locale says.
constexpr SlugProblem check_slug(std::string_view slug) {
  if (slug.empty()) {
    return SlugProblem::empty;
  }
  if (slug.size() > kMaxSlugLength) {
    return SlugProblem::too_long;
  }
  if (slug == "run") {
    return SlugProblem::reserved;
  }
  if (slug[0] >= '0' && slug[0] <= '9') {
    return SlugProblem::leading_digit;
  }
  for (char c : slug) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!letter && !(c >= '0' && c <= '9') && c != '_') {
      return SlugProblem::bad_character;
    }
  }
  if (slug.front() == '_') {
    return SlugProblem::leading_underscore;
  }
  if (slug.back() == '_') {
    return SlugProblem::trailing_underscore;
  }
  // By hand: g++ 12 with -fsanitize=undefined cannot evaluate string_view::find at compile time.
  for (std::size_t i = 1; i < slug.size(); ++i) {
    if (slug[i - 1] == '_' && slug[i] == '_') {
      return SlugProblem::double_underscore;
    }
  }
  return SlugProblem::none;
}

// Lower case, for ASCII letters only.
constexpr char ascii_lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
}

// Equal but for the case of ASCII letters.
constexpr bool same_ignoring_case(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) {
    return false;
  }
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (ascii_lower(a[i]) != ascii_lower(b[i])) {
      return false;
    }
  }
  return true;
}

// Characters of the number in decimal.
constexpr std::size_t decimal_digits(std::size_t n) {
  return n < 10 ? 1 : 1 + decimal_digits(n / 10);
}

// What check_route finds.
enum class RouteProblem { none, flow_too_long, step_too_long };

// The whole length rule of sql-core 4.2; the names themselves are built at run time only.
constexpr RouteProblem check_route(
    std::size_t flow_length, std::size_t step_length, std::size_t step_index
) {
  if (flow_length + 2 + step_length <= kMaxPgmqQueueNameLength) {
    return RouteProblem::none;
  }
  if (flow_length + 3 > kMaxPgmqQueueNameLength) {
    return RouteProblem::flow_too_long;
  }
  return flow_length + 2 + decimal_digits(step_index) <= kMaxPgmqQueueNameLength
             ? RouteProblem::none
             : RouteProblem::step_too_long;
}

// Levenshtein distance without case, for "did you mean"; npos when a text is longer than any slug.
constexpr std::size_t edit_distance(std::string_view a, std::string_view b) {
  if (a.size() > kMaxSlugLength || b.size() > kMaxSlugLength) {
    return std::string_view::npos;
  }
  std::array<std::size_t, kMaxSlugLength + 1> row{};
  for (std::size_t j = 0; j <= b.size(); ++j) {
    row[j] = j;
  }
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      std::size_t best = diagonal + (ascii_lower(a[i - 1]) == ascii_lower(b[j - 1]) ? 0 : 1);
      best = above + 1 < best ? above + 1 : best;
      best = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
      row[j] = best;
      diagonal = above;
    }
  }
  return row[b.size()];
}

// Is `known`, at this distance from `given`, near enough to be suggested?
constexpr bool worth_suggesting(std::size_t distance, std::size_t given_length) {
  return distance <= 2 || distance * 3 <= given_length;
}

}  // namespace pgflow
