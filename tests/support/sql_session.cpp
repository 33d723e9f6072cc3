#include "support/sql_session.hpp"

#include <optional>

namespace pgflow::test {
namespace {

std::string field(const PGresult* result, int code) {
  const char* const text = PQresultErrorField(result, code);
  return text ? text : "";
}

}  // namespace

SqlSession::SqlSession(const Database& database)
    : connection_(
          PQconnectdb((database.url() +
                       " options='-c client_min_messages=warning -c statement_timeout=60s'")
                          .c_str()),
          &PQfinish
      ) {
  if (PQstatus(connection_.get()) != CONNECTION_OK)
    throw std::runtime_error(PQerrorMessage(connection_.get()));
}

void SqlSession::send(const std::string& sql) {
  if (!PQsendQuery(connection_.get(), sql.c_str()))
    throw std::runtime_error(PQerrorMessage(connection_.get()));
}

SqlSession::Rows SqlSession::finish() {
  Rows rows;
  std::optional<SqlError> error;
  while (true) {
    const std::unique_ptr<PGresult, decltype(&PQclear)> result(
        PQgetResult(connection_.get()), &PQclear
    );
    if (!result) break;
    if (PQresultStatus(result.get()) == PGRES_FATAL_ERROR) {
      error.emplace(
          PQresultErrorMessage(result.get()),
          field(result.get(), PG_DIAG_SQLSTATE),
          field(result.get(), PG_DIAG_CONSTRAINT_NAME)
      );
    }
    rows.clear();
    for (int row = 0; row < PQntuples(result.get()); ++row) {
      std::vector<std::string>& fields = rows.emplace_back();
      for (int column = 0; column < PQnfields(result.get()); ++column) {
        fields.emplace_back(
            PQgetisnull(result.get(), row, column) ? "<null>"
                                                   : PQgetvalue(result.get(), row, column)
        );
      }
    }
  }
  if (error) throw *error;
  return rows;
}

bool SqlSession::is_done() {
  return PQconsumeInput(connection_.get()) == 0 || !PQisBusy(connection_.get());
}

SqlSession::Rows SqlSession::rows(const std::string& sql) {
  send(sql);
  return finish();
}

std::string SqlSession::value(const std::string& sql) {
  const Rows result = rows(sql);
  return result.empty() ? "<none>" : result.front().front();
}

}  // namespace pgflow::test
