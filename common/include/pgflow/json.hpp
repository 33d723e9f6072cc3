// C++ values to JSON text and back. Plain structs need nothing; json_custom.hpp changes a type's
// form.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <type_traits>

#include <pgflow/detail/type_info.hpp>
#include <pgflow/error.hpp>
#include <pgflow/json_custom.hpp>

namespace pgflow {

// Types with a JSON form: aggregates of such types (at most 48 members), numbers, bool,
// std::string, enums, optional, unique_ptr and shared_ptr (empty = absent), standard containers,
// maps with string, enum or integer keys, tuple, pair, variant, std::monostate (null), chrono times
// and durations, pgflow::Json.
template <class T>
concept JsonType = std::is_same_v<decltype(detail::offending<T>()), detail::no_offender>;

// Reads one JSON value. JsonError with the place inside the document when it does not fit T.
template <JsonType T>
T from_json(std::string_view text) {
  T value{};
  detail::decode(detail::type_info<T>(), &value, text);
  return value;
}

// Writes one JSON value. JsonError for what JSON or PostgreSQL's jsonb cannot hold: NaN, invalid
// UTF-8, U+0000.
template <JsonType T>
std::string to_json(const T& value) {
  std::string out;
  detail::encode(detail::type_info<T>(), &value, out);
  return out;
}

// JSON Schema 2020-12 of T's form.
template <JsonType T>
std::string json_schema() {
  return detail::schema(detail::type_info<T>());
}

// PostgreSQL's jsonb `value @> pattern`, on texts. JsonError when one of them is not JSON.
bool json_contains(std::string_view value, std::string_view pattern);

namespace detail {
std::string format_time(std::chrono::sys_time<std::chrono::microseconds>);
std::chrono::sys_time<std::chrono::microseconds> parse_time(const std::string&);
std::string format_date(std::chrono::sys_days);
std::chrono::sys_days parse_date(const std::string&);
}  // namespace detail

// Points in time are RFC 3339 texts in UTC, to the microsecond; sys_days are dates. Reading wants a
// time zone.
template <class D>
struct json_as<std::chrono::time_point<std::chrono::system_clock, D>> {
  using type = std::string;                                                   // how it is stored
  using T = std::chrono::time_point<std::chrono::system_clock, D>;            // what is stored
  static constexpr bool is_date = std::is_same_v<D, std::chrono::days>;       // whole days
  static constexpr std::string_view format = is_date ? "date" : "date-time";  // in the JSON Schema

  // Reads; what it throws becomes the reason of a JsonError.
  static T from(const std::string& text) {
    if constexpr (is_date) {
      return detail::parse_date(text);
    } else {
      return std::chrono::floor<D>(detail::parse_time(text));
    }
  }
  // Writes.
  static std::string to(const T& time) {
    if constexpr (is_date) {
      return detail::format_date(time);
    } else {
      return detail::format_time(std::chrono::floor<std::chrono::microseconds>(time));
    }
  }
};

// Durations are their count, in the type's own unit.
template <class R, class P>
struct json_as<std::chrono::duration<R, P>> {
  using type = R;  // how it is stored
  // Reads.
  static std::chrono::duration<R, P> from(R count) { return std::chrono::duration<R, P>(count); }
  // Writes.
  static R to(std::chrono::duration<R, P> duration) { return duration.count(); }
};

}  // namespace pgflow
