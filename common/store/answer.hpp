// How every call of store/ answers, by the rules of pg::Connection, and what its rows share.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "pg/connection.hpp"

namespace pgflow::store {

template <class T>
using Answer = std::function<void(Result<T>)>;

// A callback for Connection::query that hands `read(rows)` on.
template <class Read, class T>
pg::Connection::OnRows reading(Read read, Answer<T> answer) {
  return [read = std::move(read), answer = std::move(answer)](Result<pg::Rows> rows) {
    answer(std::move(rows).map([&](pg::Rows found) -> T { return read(found); }));
  };
}

// The same row by row.
template <class ReadRow, class T>
pg::Connection::OnRows reading_each(ReadRow read_row, Answer<std::vector<T>> answer) {
  return reading(
      [read_row = std::move(read_row)](const pg::Rows& rows) {
        std::vector<T> all;
        all.reserve(static_cast<std::size_t>(rows.size()));
        for (const pg::Row row : rows) all.push_back(read_row(row));
        return all;
      },
      std::move(answer)
  );
}

inline pg::Connection::OnRows reading_nothing(Answer<void> answer) {
  return [answer = std::move(answer)](Result<pg::Rows> rows) {
    if (rows) {
      answer({});
    } else {
      answer(tl::unexpected(std::move(rows).error()));
    }
  };
}

}  // namespace pgflow::store
