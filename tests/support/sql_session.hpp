// One connection that stays open, for tests that hold transactions open side by side.
#pragma once

#include <libpq-fe.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/database.hpp"

namespace pgflow::test {

// PostgreSQL refused a statement.
class SqlError : public std::runtime_error {
 public:
  SqlError(const std::string& text, std::string sqlstate, std::string constraint)
      : std::runtime_error(text),
        sqlstate_(std::move(sqlstate)),
        constraint_(std::move(constraint)) {}
  const std::string& sqlstate() const { return sqlstate_; }
  const std::string& constraint() const { return constraint_; }

 private:
  std::string sqlstate_;
  std::string constraint_;
};

class SqlSession {
 public:
  using Rows = std::vector<std::vector<std::string>>;

  explicit SqlSession(const Database& database);

  // Runs one or several statements and waits: the rows of the last one, null is "<null>".
  Rows rows(const std::string& sql);
  // First column of the first row; "<none>" without rows.
  std::string value(const std::string& sql);

  // Only sends; finish() waits for the answer.
  void send(const std::string& sql);
  Rows finish();
  // Whether finish() would not wait.
  bool is_done();

  int backend_pid() const { return PQbackendPID(connection_.get()); }

 private:
  std::unique_ptr<PGconn, decltype(&PQfinish)> connection_;
};

}  // namespace pgflow::test
