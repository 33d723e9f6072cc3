// A loop, a database of one's own and an open connection to it.
#pragma once

#include <chrono>
#include <string>
#include <type_traits>
#include <utility>

#include "pg/await.hpp"
#include "pg/connection.hpp"
#include "support/catch.hpp"
#include "support/database.hpp"

namespace pgflow::test {

using namespace std::chrono_literals;

// The value, or the test fails with the error's text.
template <class T>
T value_of(Result<T> result) {
  if (!result) FAIL(result.error().kind << ": " << result.error().text());
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

struct Session {
  explicit Session(const std::string& from_template)
      : database(from_template), connection(loop, {.dsn = pg::Dsn::parse(database.url()).value()}) {
    REQUIRE(ask<void>([&](auto done) { connection.connect(done); }));
  }

  template <class T, class Start>
  Result<T> ask(Start start) {
    return pg::await<T>(loop, 30s, std::move(start));
  }

  uv::Loop loop;
  Database database;
  pg::Connection connection;
};

}  // namespace pgflow::test
