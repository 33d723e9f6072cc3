// Writes one JSON document, value by value.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "json/value.hpp"

namespace pgflow::json {

// Calls must nest as JSON does: a key before each value of an object. Wrong nesting is a bug and
// aborts. Texts must be valid UTF-8; one that is not is written with U+FFFD in place of the bad
// bytes.
class Writer {
 public:
  enum class Style { compact, indented };

  explicit Writer(Style style = Style::compact);
  Writer(Writer&&) noexcept;
  Writer& operator=(Writer&&) noexcept;
  ~Writer();

  Writer& begin_object();
  Writer& end_object();
  Writer& begin_array();
  Writer& end_array();
  Writer& key(std::string_view name);

  Writer& null();
  Writer& boolean(bool value);
  Writer& integer(std::int64_t value);
  Writer& real(double value);  // NaN and infinity become null
  Writer& string(std::string_view value);
  // JSON text that is known to be one value, e.g. jsonb from the database.
  Writer& raw(std::string_view json);
  Writer& value(const Value& tree);

  // The finished document.
  std::string take();

 private:
  class Engine;
  std::unique_ptr<Engine> engine_;
};

// The text as a JSON string, quotes included.
std::string quoted(std::string_view text);
// The tree as compact JSON.
std::string text_of(const Value& tree);

}  // namespace pgflow::json
