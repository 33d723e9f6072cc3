// How the arguments of Sql reach PostgreSQL.
#include <pgflow/sql.hpp>

#include "json/codec.hpp"

namespace pgflow::detail {

SqlParameter sql_parameter(std::string_view json) {
  const json::Value value = json::parse_or_throw(json);
  if (value.type == json::Type::null) return std::nullopt;
  if (const auto text = value.as_string()) return std::string(*text);
  return std::string(json);
}

std::string sql_array(const std::vector<SqlParameter>& elements) {
  std::string literal = "{";
  for (const SqlParameter& element : elements) {
    if (literal.size() > 1) literal += ',';
    if (!element) {
      literal += "NULL";
      continue;
    }
    literal += '"';
    for (const char c : *element) {
      if (c == '"' || c == '\\') literal += '\\';
      literal += c;
    }
    literal += '"';
  }
  return literal + "}";
}

void throw_not_one_column(std::size_t columns) {
  throw SqlError(
      {.kind = "one_column",
       .message = "A row with " + std::to_string(columns) + " columns is no single value.",
       .hint = "Select one column, or read the rows as a struct with members named after them."}
  );
}

}  // namespace pgflow::detail
