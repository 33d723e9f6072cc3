// PostgreSQL's array literals.
#include "pg/params.hpp"

namespace pgflow::pg {

Param Param::array(std::span<const MessageId> ids) {
  std::string text = "{";
  for (const MessageId id : ids) {
    if (text.size() > 1) text += ',';
    text += std::to_string(id.value());
  }
  return text + "}";
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
