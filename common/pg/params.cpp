// PostgreSQL's array literals.
#include "pg/params.hpp"

namespace pgflow::pg {

Param Param::array(std::span<const MessageId> ids) {
  std::string literal = "{";
  for (const MessageId id : ids) {
    if (literal.size() > 1) literal += ',';
    literal += std::to_string(id.value());
  }
  return literal + "}";
}

Param Param::array(std::span<const int> numbers) {
  std::string literal = "{";
  for (const int number : numbers) {
    if (literal.size() > 1) literal += ',';
    literal += std::to_string(number);
  }
  return literal + "}";
}

Param Param::array(std::span<const std::string> texts) {
  std::string literal = "{";
  for (const std::string& text : texts) {
    if (literal.size() > 1) literal += ',';
    literal += '"';
    for (const char c : text) {
      if (c == '"' || c == '\\') literal += '\\';
      literal += c;
    }
    literal += '"';
  }
  return literal + "}";
}

}  // namespace pgflow::pg
