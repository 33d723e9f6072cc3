// PGresult behind a C++ door.
#include "pg/rows.hpp"

#include <libpq-fe.h>

#include <charconv>

namespace pgflow::pg {
namespace {

template <class T>
T number_in(std::string_view text) {
  T number{};
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc() || end != text.data() + text.size()) {
    PGFLOW_BUG("a column is not a whole number");
  }
  return number;
}

}  // namespace

std::int64_t Value::int64() const {
  return number_in<std::int64_t>(view());
}

int Value::integer() const {
  return number_in<int>(view());
}

bool Value::boolean() const {
  if (view() != "t" && view() != "f") PGFLOW_BUG("a column is not a boolean");
  return view() == "t";
}

Value Row::operator[](int column) const {
  return rows_->at(index_, column);
}

Rows::Rows(pg_result* owned) : result_(owned, &PQclear) {}

int Rows::size() const {
  return PQntuples(result_.get());
}

int Rows::affected() const {
  const std::string_view count = PQcmdTuples(result_.get());
  return count.empty() ? 0 : number_in<int>(count);
}

Value Rows::at(int row, int column) const {
  if (row >= size() || column >= PQnfields(result_.get())) PGFLOW_BUG("no such row or column");
  if (PQgetisnull(result_.get(), row, column) != 0) return Value(std::nullopt);
  return Value(std::string_view(
      PQgetvalue(result_.get(), row, column),
      static_cast<std::size_t>(PQgetlength(result_.get(), row, column))
  ));
}

}  // namespace pgflow::pg
