// The database of a verb: which one, and one connection that waits for each answer.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pg/await.hpp"
#include "pg/connection.hpp"
#include "supervisor/commands/command.hpp"

namespace pgflow::cli {

// Where the database is and who said so.
struct DatabaseAddress {
  std::string url;  // a URI or a conninfo string
  std::string source;
};

// -d, DATABASE_URL, EDGE_WORKER_DB_URL, PG*, the config file, the embedded database of this folder
// if it runs: the first that is there.
Outcome<DatabaseAddress> find_database(const Common& common);

using Parameters = std::vector<std::optional<std::string>>;

class Database {
 public:
  // Connects. The schema may be absent: for `migrate`.
  static Outcome<std::unique_ptr<Database>> open(const Common& common);
  // Connects and refuses a schema that is absent or of another version.
  static Outcome<std::unique_ptr<Database>> open_with_schema(const Common& common);
  static Outcome<std::unique_ptr<Database>> connect(const DatabaseAddress& address);

  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // Waits for one answer of store/: `start` gets the callback to hand on.
  template <class T, class Start>
  Outcome<T> await(Start start) {
    Result<T> result = pg::await<T>(loop(), kAnswerLimit, std::move(start));
    if (!result) return tl::unexpected(failure(std::move(result).error()));
    if constexpr (std::is_void_v<T>) {
      return {};
    } else {
      return std::move(*result);
    }
  }
  pg::Connection& connection();

  // The first column of the first row; nothing when there is no row or it is null.
  Outcome<std::optional<std::string>> value(
      std::string_view sql, const Parameters& parameters = {}
  );
  // The first column of all rows.
  Outcome<std::vector<std::string>> column(std::string_view sql, const Parameters& parameters = {});

  Outcome<void> require_schema();

 private:
  // A whole history is summed up, a big installation migrated.
  static constexpr std::chrono::minutes kAnswerLimit{12};

  struct Session;
  uv::Loop& loop();
  Outcome<pg::Rows> rows(std::string_view sql, const Parameters& parameters);
  explicit Database(std::unique_ptr<Session> session);

  std::unique_ptr<Session> session_;
};

// 66 with a guess when no flow of this name is compiled.
Outcome<void> require_flow(Database& database, const std::string& flow);

// "{a,b}" for a text[] or uuid[] parameter; elements are quoted.
std::string array_text(const std::vector<std::string>& elements);

}  // namespace pgflow::cli
