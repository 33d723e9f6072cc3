// The schema in the database against the schema in this program: look, judge, bring up.
#pragma once

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

struct UpReport {
  int from = 0;
  int to = 0;
  std::vector<std::string> applied;  // names of migrations
  PgmqState pgmq = PgmqState::none;  // as it is now
};

// One at a time on a connection that nobody else uses meanwhile: up() holds a transaction open.
class Migrator {
 public:
  explicit Migrator(pg::Connection& connection) : connection_(connection) {}

  void status(Answer<SchemaStatus> answer);

  // One transaction: pgmq if there is none, the missing migrations, then all functions. Two at once
  // wait for each other. Nothing is changed when it fails.
  void up(Answer<UpReport> answer);

 private:
  pg::Connection& connection_;
};

}  // namespace pgflow::store
