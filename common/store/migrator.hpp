// The schema in the database against the schema in this program: look, judge, bring up, take back.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "store/answer.hpp"

namespace pgflow::store {

enum class SchemaState {
  none,     // no schema pgflow
  current,  // exactly ours
  behind,   // migrations are missing
  newer,    // made by a newer program
  foreign,  // a schema pgflow that is not ours
  changed   // an applied migration is not the one in this program
};
std::string_view name(SchemaState state);

enum class PgmqState {
  none,       // neither installed nor offered
  offered,    // the server has the extension, not created yet
  extension,  // created
  fallback,   // our SQL
  unmarked,   // a schema pgmq from somewhere else, with the functions that we need
  unusable    // one without them, or an extension older than 1.5
};
std::string_view name(PgmqState state);

struct SchemaStatus {
  SchemaState state = SchemaState::none;
  PgmqState pgmq = PgmqState::none;
  int version = 0;                   // in the database; 0 if none
  int wanted = 0;                    // in this program
  std::vector<std::string> pending;  // names of missing migrations, in order
  std::string detail{};              // what is wrong with a foreign, changed or unusable schema
};

// Why a worker, a supervisor or a verb cannot use this database, nothing if it can. Kinds:
// schema_missing, schema_behind, schema_newer, schema_foreign, schema_changed, pgmq_missing,
// pgmq_unusable.
std::optional<Error> schema_problem(const SchemaStatus& status);

struct UpOptions {
  bool adopt = false;  // take upstream's schema over when there is one
};

struct UpReport {
  int from = 0;
  int to = 0;
  std::vector<std::string> applied;  // names of migrations
  bool adopted = false;
  PgmqState pgmq = PgmqState::none;  // as it is now
};

struct DownReport {
  int from = 0;
  int to = 0;
  std::vector<std::string> undone;  // names of migrations, the newest first
};

struct ValidateReport {
  SchemaStatus status;
  std::size_t functions = 0;  // that were compared; 0 unless the schema is current
  std::vector<Error> problems;
};

// One at a time on a connection that nobody else uses meanwhile: all but status() hold a
// transaction open. Two migrators at once wait for each other. Nothing is changed when one fails.
class Migrator {
 public:
  explicit Migrator(pg::Connection& connection) : connection_(connection) {}

  void status(Answer<SchemaStatus> answer);

  // One transaction: pgmq if there is none, the missing migrations, then all functions.
  void up(UpOptions options, Answer<UpReport> answer);
  void up(Answer<UpReport> answer) { up({}, std::move(answer)); }

  // One migration back, or to this version. Kinds: no_way_back, workers_alive, data_would_be_lost.
  void down(std::optional<int> to, Answer<DownReport> answer);

  // Rehearses up() and rolls back: what stands in its way, and which functions it would change.
  void validate(Answer<ValidateReport> answer);

 private:
  pg::Connection& connection_;
};

}  // namespace pgflow::store
