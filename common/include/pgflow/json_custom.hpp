// How to change the JSON form of a type: specialise one of these for it.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace pgflow {

namespace detail {
struct EnumValue {
  long long value{};
  std::string_view name{};
};
}  // namespace detail

// Any JSON value, kept as text: numbers keep all their digits (their size must be within a double's
// range).
struct Json {
  std::string text = "null";  // the JSON
  // Of texts: 1 and 1.0 differ.
  friend bool operator==(const Json&, const Json&) = default;
};

// Store T as another type:
//   template <> struct pgflow::json_as<Money> {
//     using type = std::int64_t;
//     static Money from(std::int64_t cents);   // may throw; the text becomes the JsonError's
//     reason static std::int64_t to(const Money&);
//   };
template <class T>
struct json_as;

// Which values of E are looked at for names (at most 64 of them).
template <class E>
struct enum_range {
  static constexpr int min = 0;   // the first value
  static constexpr int max = 63;  // the last value
};

// Other names for an enum's values:
//   template <> inline constexpr auto pgflow::enum_names<Mode> =
//       pgflow::names<Mode, 2>{{{Mode::fail, "fail"}, {Mode::skip_cascade, "skip-cascade"}}};
template <class E, std::size_t N>
struct names {
  std::array<detail::EnumValue, N> entries;  // value and name

  // From pairs of value and name.
  constexpr names(const std::pair<E, const char*> (&list)[N]) {
    for (std::size_t i = 0; i < N; ++i) {
      entries[i] = {static_cast<long long>(list[i].first), list[i].second};
    }
  }
};
// Specialised for E: other names for its values.
template <class E>
inline constexpr auto enum_names = nullptr;

// Other keys for some members:
//   template <> inline constexpr auto pgflow::json_keys<Row> = pgflow::keys<1>{{{"class_",
//   "class"}}};
template <std::size_t N>
struct keys {
  std::array<std::pair<std::string_view, std::string_view>, N> entries;  // member and key

  // From pairs of member and key.
  constexpr keys(const std::pair<const char*, const char*> (&list)[N]) {
    for (std::size_t i = 0; i < N; ++i) {
      entries[i] = {list[i].first, list[i].second};
    }
  }
};
// Specialised for T: other keys for its members.
template <class T>
inline constexpr auto json_keys = nullptr;

// Refuse unknown keys of T instead of ignoring them.
template <class T>
inline constexpr bool json_strict = false;

// A variant of structs written as one object with the alternative's type name under this key:
//   template <> inline constexpr std::string_view pgflow::json_tag<Channel> = "kind";
template <class V>
inline constexpr std::string_view json_tag{};

}  // namespace pgflow
