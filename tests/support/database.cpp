#include "support/database.hpp"

#include <libpq-fe.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <memory>
#include <stdexcept>

namespace pgflow::test {
namespace {

std::string url_of(const Server& server, const std::string& database) {
  return "host=" + server.host + " port=" + server.port + " user=" + server.user +
         " dbname=" + database;
}

std::vector<std::vector<std::string>> run(const std::string& url, const std::string& sql) {
  const std::unique_ptr<PGconn, decltype(&PQfinish)> connection(
      PQconnectdb(
          (url + " application_name=pgflow-test options='-c client_min_messages=warning'").c_str()
      ),
      &PQfinish
  );
  if (PQstatus(connection.get()) != CONNECTION_OK)
    throw std::runtime_error(PQerrorMessage(connection.get()));
  const std::unique_ptr<PGresult, decltype(&PQclear)> result(
      PQexec(connection.get(), sql.c_str()), &PQclear
  );
  const ExecStatusType status = PQresultStatus(result.get());
  if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
    throw std::runtime_error(PQerrorMessage(connection.get()));
  }
  std::vector<std::vector<std::string>> rows;
  for (int row = 0; row < PQntuples(result.get()); ++row) {
    std::vector<std::string>& fields = rows.emplace_back();
    for (int column = 0; column < PQnfields(result.get()); ++column) {
      fields.emplace_back(
          PQgetisnull(result.get(), row, column) ? "<null>" : PQgetvalue(result.get(), row, column)
      );
    }
  }
  return rows;
}

}  // namespace

Server Server::from_env_file(const std::string& path) {
  Server server;
  std::ifstream file(path);
  if (!file)
    throw std::runtime_error(
        "no " + path + "; is the test cluster running (./dev test starts it)?"
    );
  for (std::string line; std::getline(file, line);) {
    const std::size_t equals = line.find('=');
    const std::string name = line.substr(0, equals);
    if (name == "PGHOST") server.host = line.substr(equals + 1);
    if (name == "PGPORT") server.port = line.substr(equals + 1);
    if (name == "PGUSER") server.user = line.substr(equals + 1);
  }
  return server;
}

Server Server::shared() {
  return from_env_file(PGFLOW_CLUSTER_ENV);
}

Database::Database(const std::string& from_template, const Server& server) : server_(server) {
  static std::atomic<int> count = 0;
  name_ = "test_" + std::to_string(getpid()) + "_" + std::to_string(++count);
  url_ = url_of(server_, name_);
  run(url_of(server_, "postgres"), "create database " + name_ + " template " + from_template);
}

Database::~Database() {
  try {
    run(url_of(server_, "postgres"), "drop database if exists " + name_ + " with (force)");
  } catch (const std::exception&) {
    // The server may be stopped by the test; its folder is removed with it.
  }
}

std::vector<std::vector<std::string>> Database::rows(const std::string& sql) const {
  return run(url_, sql);
}

std::string Database::value(const std::string& sql) const {
  const auto result = rows(sql);
  return result.empty() ? "<none>" : result.front().front();
}

}  // namespace pgflow::test
