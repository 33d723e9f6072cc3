// A database for one test, cloned from a template of the test cluster, with plain blocking queries.
#pragma once

#include <string>
#include <vector>

namespace pgflow::test {

// Where a server listens.
struct Server {
  std::string host;
  std::string port;
  std::string user;

  // Reads the file that tests/support/cluster wrote.
  static Server from_env_file(const std::string& path);
  // The cluster of the fixture `database`.
  static Server shared();
};

class Database {
 public:
  explicit Database(
      const std::string& from_template = "pgflow_template", const Server& server = Server::shared()
  );
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  std::string url() const { return url_; }

  // All rows; null is the text "<null>". An error throws with PostgreSQL's own text. Each call uses
  // a connection of its own, so that nothing of the test stands in the way of a server restart.
  std::vector<std::vector<std::string>> rows(const std::string& sql) const;
  // First column of the first row; "<none>" without rows.
  std::string value(const std::string& sql) const;

 private:
  Server server_;
  std::string name_;
  std::string url_;
};

}  // namespace pgflow::test
