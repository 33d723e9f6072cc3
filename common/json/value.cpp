// Reading a json::Value.
#include "json/value.hpp"

#include <algorithm>

#include "json/number.hpp"

namespace pgflow::json {

const Value* Value::find(std::string_view name) const {
  const auto last = std::find_if(members.rbegin(), members.rend(), [&](const Member& m) {
    return m.name == name;
  });
  return last == members.rend() ? nullptr : &last->value;
}

std::optional<bool> Value::as_bool() const {
  return type == Type::boolean ? std::optional(flag) : std::nullopt;
}
std::optional<std::int64_t> Value::as_int64() const {
  return type == Type::number ? integer<std::int64_t>(text) : std::nullopt;
}
std::optional<double> Value::as_double() const {
  return type == Type::number ? real(text) : std::nullopt;
}
std::optional<std::string_view> Value::as_string() const {
  return type == Type::string ? std::optional<std::string_view>(text) : std::nullopt;
}

const char* Value::type_words() const {
  switch (type) {
    case Type::null:
      return "null";
    case Type::boolean:
      return "a boolean";
    case Type::number:
      return "a number";
    case Type::string:
      return "a string";
    case Type::array:
      return "an array";
    case Type::object:
      return "an object";
  }
  return "";
}

std::string Value::shown() const {
  constexpr std::size_t kLongest = 40;
  switch (type) {
    case Type::number:
      return text;
    case Type::string: {
      if (text.size() <= kLongest) {
        return "\"" + text + "\"";
      }
      // Not in the middle of a UTF-8 character: its further bytes are 10xxxxxx.
      std::size_t end = kLongest - 3;
      while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) {
        --end;
      }
      return "\"" + text.substr(0, end) + "...\"";
    }
    case Type::boolean:
      return flag ? "true" : "false";
    default:
      return type_words();
  }
}

Position locate(std::string_view text, std::size_t offset) {
  Position at;
  for (const char c : text.substr(0, offset)) {
    if (c == '\n') {
      ++at.line;
      at.column = 1;
    } else if ((static_cast<unsigned char>(c) & 0xC0U) != 0x80U) {
      ++at.column;
    }
  }
  return at;
}

}  // namespace pgflow::json
