// One event as one line: the text that a log record becomes, whatever bytes its values hold.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "base/strong.hpp"

namespace pgflow::log {

enum class Level { debug, info, warn, error };

enum class Format {
  fancy,   // a terminal: local clock, colour, the event first
  simple,  // key=value, as upstream's
  json     // one object a line
};

Result<Level> parse_level(std::string_view text);    // "verbose" is debug, "warning" is warn
Result<Format> parse_format(std::string_view text);  // fancy, simple, json
std::string_view name(Level level);
std::string_view name(Format format);

// A key and its value. Keys come from our code; values may be anything. Borrowed texts must outlive
// the call that logs.
class Field {
 public:
  using Value = std::variant<std::string_view, std::string, std::int64_t, double, bool>;

  Field(std::string_view k, std::string_view text) : key(k), value(text) {}
  Field(std::string_view k, const std::string& text) : key(k), value(std::string_view(text)) {}
  Field(std::string_view k, const char* text) : key(k), value(std::string_view(text)) {}
  Field(std::string_view k, bool truth) : key(k), value(truth) {}
  Field(std::string_view k, double real) : key(k), value(real) {}
  template <class T>
    requires(std::is_integral_v<T> && !std::is_same_v<T, bool>)
  Field(std::string_view k, T integer) : key(k), value(static_cast<std::int64_t>(integer)) {}
  template <class Tag>
  Field(std::string_view k, const Uuid<Tag>& id) : key(k), value(id.text()) {}
  Field(std::string_view k, MessageId id) : key(k), value(std::to_string(id.value())) {}
  Field(std::string_view k, std::chrono::milliseconds duration)
      : key(k), value(static_cast<std::int64_t>(duration.count())) {}

  std::string_view key;
  Value value;
};

struct Line {
  WallClock::time_point time;
  Level level = Level::info;
  std::string_view component{};
  int pid = 0;
  std::string_view event{};
  std::span<const Field> fields{};
  std::span<const Field> context{};  // what every line of this process says
};

// Without the line end. `colour` counts for fancy only.
std::string render(const Line& line, Format format, bool colour = false);

// Whether a text is what render() makes, in whatever format: what another process of ours has
// logged. One that holds anything to drive a terminal with, but for our own colours, is not.
bool is_rendered(std::string_view text);

// Without colours, and nothing in it drives a terminal: tabs stay, other control characters and
// bytes that are no UTF-8 become U+FFFD.
std::string harmless(std::string_view text);

}  // namespace pgflow::log
