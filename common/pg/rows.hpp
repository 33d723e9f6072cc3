// What a query returned: rows of texts, read as the types that the SQL promised.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/bug.hpp"
#include "base/strong.hpp"

struct pg_result;

namespace pgflow::pg {

// One field. A type that the text does not hold is a bug: our own SQL wrote it.
class Value {
 public:
  explicit Value(std::optional<std::string_view> text) : text_(text) {}

  bool is_null() const { return !text_; }
  std::string_view view() const { return text_.value_or(std::string_view()); }  // "" for NULL
  std::string text() const { return std::string(view()); }
  std::optional<std::string> optional_text() const {
    return text_ ? std::optional(std::string(*text_)) : std::nullopt;
  }
  std::int64_t int64() const;
  int integer() const;
  bool boolean() const;
  template <class Tag>
  Uuid<Tag> uuid() const {
    const auto id = Uuid<Tag>::parse(view());
    if (!id) PGFLOW_BUG("a column is not a UUID");
    return *id;
  }

 private:
  std::optional<std::string_view> text_;
};

class Rows;

class Row {
 public:
  Row(const Rows& rows, int index) : rows_(&rows), index_(index) {}
  Value operator[](int column) const;

 private:
  const Rows* rows_;
  int index_;
};

// Views into it die with it.
class Rows {
 public:
  explicit Rows(pg_result* owned);

  int size() const;
  bool empty() const { return size() == 0; }
  int affected() const;  // rows changed by insert, update or delete
  Value at(int row, int column) const;
  Row operator[](int row) const { return {*this, row}; }

  class Iterator {
   public:
    Iterator(const Rows& rows, int index) : rows_(&rows), index_(index) {}
    Row operator*() const { return {*rows_, index_}; }
    Iterator& operator++() {
      ++index_;
      return *this;
    }
    bool operator==(const Iterator& other) const { return index_ == other.index_; }

   private:
    const Rows* rows_;
    int index_;
  };
  Iterator begin() const { return {*this, 0}; }
  Iterator end() const { return {*this, size()}; }

 private:
  std::shared_ptr<pg_result> result_;
};

}  // namespace pgflow::pg
