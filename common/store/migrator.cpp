// Installs the embedded SQL. The marker table pgflow.schema_migrations is made here, not by a
// migration.
#include "store/migrator.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <memory>

#include "base/bug.hpp"
#include "log/log.hpp"
#include "sql/bundle.hpp"

namespace pgflow::store {
namespace {

using std::chrono::minutes;

constexpr minutes kLongest{10};  // for rewriting the tables of a big installation

// What the core calls; the signatures are those of PGMQ 1.5 and later.
constexpr pg::Query kLook{
    "look_at_schema",
    "select to_regnamespace('pgflow') is not null, to_regclass('pgflow.schema_migrations') is not "
    "null,"
    "  (select e.extversion from pg_catalog.pg_extension e where e.extname = 'pgmq'),"
    "  (select a.default_version from pg_catalog.pg_available_extensions a where a.name = 'pgmq'),"
    "  to_regnamespace('pgmq') is not null, to_regprocedure('pgmq._fallback_version()') is not "
    "null,"
    "  (select coalesce(string_agg(needed, ', ' order by needed), '') from unnest(array["
    "    'pgmq.create(text)', 'pgmq.drop_queue(text)', 'pgmq.list_queues()', "
    "'pgmq.format_table_name(text,text)',"
    "    'pgmq.send_batch(text,jsonb[],integer)', 'pgmq.read(text,integer,integer,jsonb)',"
    "    'pgmq.set_vt(text,bigint,integer)', 'pgmq.archive(text,bigint)', "
    "'pgmq.archive(text,bigint[])',"
    "    'pgmq.delete(text,bigint[])']) needed where to_regprocedure(needed) is null)",
};
constexpr pg::Query kApplied{
    "list_migrations",
    "select version, name, checksum from pgflow.schema_migrations order by version",
};

constexpr char kBegin[] =
    "begin;"
    "set local lock_timeout = '10s';"
    "set local statement_timeout = 0;"
    "set local idle_in_transaction_session_timeout = 0;"
    "set local client_min_messages = warning;"
    "set local check_function_bodies = off;"
    "select pg_advisory_xact_lock(hashtextextended('pgflow.schema', 0));";

constexpr char kMarkerTable[] =
    "create table pgflow.schema_migrations ("
    "  version int primary key, name text not null, checksum text not null,"
    "  applied_at timestamptz not null default now());";

int number_of(std::string_view migration) {
  int number = 0;
  std::from_chars(migration.data(), migration.data() + migration.size(), number);
  if (number == 0) PGFLOW_BUG("a migration's name starts with its number");
  return number;
}

int wanted_version() {
  int newest = 0;
  for (const sql::SqlFile& file : sql::migrations())
    newest = std::max(newest, number_of(file.name));
  return newest;
}

// "1.5.1" against major.minor.
bool at_least(std::string_view version, int major, int minor) {
  int found_major = 0, found_minor = 0;
  const char* end = version.data() + version.size();
  const auto after_major = std::from_chars(version.data(), end, found_major);
  if (after_major.ptr != end) std::from_chars(after_major.ptr + 1, end, found_minor);
  return found_major > major || (found_major == major && found_minor >= minor);
}

constexpr int kPgmqMajor = 1, kPgmqMinor = 5;

struct Look {
  bool has_schema = false, has_marker = false;
  SchemaStatus status;
};

Look look_in(const pg::Rows& rows) {
  const pg::Row row = rows[0];
  Look look{.has_schema = row[0].boolean(), .has_marker = row[1].boolean(), .status = {}};
  SchemaStatus& status = look.status;
  status.wanted = wanted_version();
  const std::string installed = row[2].text(), offered = row[3].text(), missing = row[6].text();
  const bool has_pgmq_schema = row[4].boolean(), is_ours = row[5].boolean();
  if (!installed.empty() && !at_least(installed, kPgmqMajor, kPgmqMinor)) {
    status.pgmq = PgmqState::unusable;
    status.detail = "The extension pgmq is version " + installed + "; 1.5 or later is needed.";
  } else if (has_pgmq_schema && !missing.empty()) {
    status.pgmq = PgmqState::unusable;
    status.detail = "The schema pgmq lacks " + missing + ".";
  } else if (!installed.empty()) {
    status.pgmq = PgmqState::extension;
  } else if (has_pgmq_schema) {
    status.pgmq = is_ours ? PgmqState::fallback : PgmqState::unmarked;
  } else if (!offered.empty() && at_least(offered, kPgmqMajor, kPgmqMinor)) {
    status.pgmq = PgmqState::offered;
  }
  return look;
}

std::vector<std::string> all_migrations() {
  std::vector<std::string> names;
  for (const sql::SqlFile& file : sql::migrations()) names.emplace_back(file.name);
  return names;
}

void judge(SchemaStatus& status, const pg::Rows& applied) {
  std::map<int, std::pair<std::string, std::string>> known;  // version -> name, checksum
  for (const pg::Row row : applied) {
    known[row[0].integer()] = {row[1].text(), row[2].text()};
  }
  status.version = known.empty() ? 0 : known.rbegin()->first;
  if (status.version > status.wanted) {
    status.state = SchemaState::newer;
    return;
  }
  for (const sql::SqlFile& file : sql::migrations()) {
    const auto found = known.find(number_of(file.name));
    if (found == known.end()) {
      status.pending.emplace_back(file.name);
    } else if (found->second.second != file.checksum) {
      status.state = SchemaState::changed;
      status.detail = "Migration " + found->second.first + " was applied with checksum " +
                      found->second.second.substr(0, 12) + ", this program has " +
                      std::string(file.name) + " with " + std::string(file.checksum.substr(0, 12)) +
                      ".";
      return;
    }
  }
  status.state = status.pending.empty() ? SchemaState::current : SchemaState::behind;
}

std::optional<Error> pgmq_problem(const SchemaStatus& status);

// What keeps up() from beginning.
std::optional<Error> obstacle(const SchemaStatus& status) {
  switch (status.state) {
    case SchemaState::none:
      if (status.pgmq != PgmqState::unusable) return std::nullopt;
      return pgmq_problem(status);
    case SchemaState::behind:
    case SchemaState::current:
      return pgmq_problem(status);
    default:
      return schema_problem(status);
  }
}

void add_migration(std::string& script, const sql::SqlFile& file, bool first_of_all) {
  script += file.text;
  script += '\n';
  // The first migration makes the schema in which the marker table lives.
  if (first_of_all) script += kMarkerTable;
  script += "insert into pgflow.schema_migrations (version, name, checksum) values (" +
            std::to_string(number_of(file.name)) + ", '" + std::string(file.name) + "', '" +
            std::string(file.checksum) + "');\n";
}

std::string install_script(const SchemaStatus& status) {
  std::string script;
  if (status.pgmq == PgmqState::offered) script += "create extension pgmq;\n";
  if (status.pgmq == PgmqState::none) {
    for (const sql::SqlFile& file : sql::pgmq()) (script += file.text) += '\n';
  }
  bool marker_missing = status.state == SchemaState::none;
  for (const sql::SqlFile& file : sql::migrations()) {
    const bool pending =
        std::find(status.pending.begin(), status.pending.end(), file.name) != status.pending.end();
    if (!pending) continue;
    add_migration(script, file, marker_missing);
    marker_missing = false;
  }
  for (const sql::SqlFile& file : sql::functions()) (script += file.text) += '\n';
  return script;
}

Error explained(Error error) {
  if (error.sqlstate == "55P03") {
    error.kind = "schema_locked";
    error.detail = error.message;
    error.message = "The schema could not be changed: somebody else holds a lock on it.";
    error.hint =
        "Another migration is running, or a long transaction uses the tables. Try again when it "
        "has ended.";
  } else if (error.sqlstate == "42501" && error.hint.empty()) {
    error.hint = "Run this once as a role that may create schemas and extensions in this database.";
  }
  return error;
}

// up() in steps, each called by the answer to the one before.
class Up : public std::enable_shared_from_this<Up> {
 public:
  Up(pg::Connection& connection, Answer<UpReport> answer)
      : connection_(connection), answer_(std::move(answer)) {}

  void begin() {
    connection_.script(
        "begin_migration",
        kBegin,
        minutes(1),
        [self = shared_from_this()](Result<pg::Rows> begun) {
          if (!begun) return self->roll_back(std::move(begun).error());
          self->look();
        }
    );
  }

 private:
  // Under the lock: what another migrator did is seen.
  void look() {
    Migrator(connection_).status([self = shared_from_this()](Result<SchemaStatus> found) {
      if (!found) return self->roll_back(std::move(found).error());
      if (auto problem = obstacle(*found)) return self->roll_back(std::move(*problem));
      self->status_ = std::move(*found);
      self->install();
    });
  }

  void install() {
    connection_.script(
        "install_schema",
        install_script(status_),
        kLongest,
        [self = shared_from_this()](Result<pg::Rows> installed) {
          if (!installed) return self->roll_back(std::move(installed).error());
          self->commit();
        }
    );
  }

  void commit() {
    connection_.script(
        "commit_migration",
        "commit",
        kLongest,
        [self = shared_from_this()](Result<pg::Rows> committed) {
          if (!committed) return self->answer_(fail(explained(std::move(committed).error())));
          self->answer_(self->report());
        }
    );
  }

  void roll_back(Error why) {
    // A lost connection has rolled back already, and refuses.
    connection_.script(
        "roll_back_migration",
        "rollback",
        minutes(1),
        [self = shared_from_this(), why = explained(std::move(why))](const Result<pg::Rows>&) {
          self->answer_(fail(why));
        }
    );
  }

  UpReport report() const {
    PgmqState pgmq = status_.pgmq;
    if (pgmq == PgmqState::offered) pgmq = PgmqState::extension;
    if (pgmq == PgmqState::none) pgmq = PgmqState::fallback;
    return {
        .from = status_.version, .to = status_.wanted, .applied = status_.pending, .pgmq = pgmq
    };
  }

  pg::Connection& connection_;
  Answer<UpReport> answer_;
  SchemaStatus status_;
};

std::string versions(const SchemaStatus& status) {
  return "The database has version " + std::to_string(status.version) +
         ", this program needs version " + std::to_string(status.wanted) + ".";
}

std::optional<Error> pgmq_problem(const SchemaStatus& status) {
  if (status.pgmq == PgmqState::unusable) {
    return Error{
        .kind = "pgmq_unusable",
        .message = "The database's schema pgmq cannot be used.",
        .detail = status.detail,
        .hint =
            "Update the extension (alter extension pgmq update), or move a half-installed schema "
            "pgmq away.",
    };
  }
  if (status.pgmq == PgmqState::none || status.pgmq == PgmqState::offered) {
    return Error{
        .kind = "pgmq_missing",
        .message = "The database has a schema pgflow, but no schema pgmq.",
        .detail = "The queues of existing runs are gone with it.",
        .hint = "Restore the schema pgmq from a backup.",
    };
  }
  return std::nullopt;
}

}  // namespace

std::string_view name(SchemaState state) {
  switch (state) {
    case SchemaState::none:
      return "none";
    case SchemaState::current:
      return "current";
    case SchemaState::behind:
      return "behind";
    case SchemaState::newer:
      return "newer";
    case SchemaState::foreign:
      return "foreign";
    case SchemaState::changed:
      return "changed";
  }
  return "foreign";
}

std::string_view name(PgmqState state) {
  switch (state) {
    case PgmqState::none:
      return "none";
    case PgmqState::offered:
      return "offered";
    case PgmqState::extension:
      return "extension";
    case PgmqState::fallback:
      return "fallback";
    case PgmqState::unmarked:
      return "unmarked";
    case PgmqState::unusable:
      return "unusable";
  }
  return "unusable";
}

std::optional<Error> schema_problem(const SchemaStatus& status) {
  const std::string up = "Run `pgflow migrate up`.";
  switch (status.state) {
    case SchemaState::none:
      if (status.pgmq == PgmqState::unusable) break;
      return Error{
          .kind = "schema_missing", .message = "The database has no schema pgflow.", .hint = up
      };
    case SchemaState::behind:
      if (status.pgmq == PgmqState::unusable) break;
      return Error{
          .kind = "schema_behind",
          .message = "The database's schema pgflow is older than this program.",
          .detail = versions(status),
          .hint = up,
      };
    case SchemaState::newer:
      return Error{
          .kind = "schema_newer",
          .message = "The database's schema pgflow is newer than this program.",
          .detail = versions(status),
          .hint = "Upgrade this program; an older one never changes a newer schema.",
      };
    case SchemaState::foreign:
      return Error{
          .kind = "schema_foreign",
          .message = "The database has a schema pgflow that this program did not install.",
          .detail = "It has no table pgflow.schema_migrations.",
          .hint = "Use another database, or move that schema away.",
      };
    case SchemaState::changed:
      return Error{
          .kind = "schema_changed",
          .message = "An applied migration differs from the one in this program.",
          .detail = status.detail,
          .hint =
              "Use the release that installed this database, or restore the row in "
              "pgflow.schema_migrations.",
      };
    case SchemaState::current:
      break;
  }
  return pgmq_problem(status);
}

void Migrator::status(Answer<SchemaStatus> answer) {
  connection_.query(
      kLook,
      {},
      [&connection = connection_, answer = std::move(answer)](Result<pg::Rows> rows) {
        if (!rows) return answer(fail(std::move(rows).error()));
        Look look = look_in(*rows);
        if (!look.has_marker) {
          look.status.state = look.has_schema ? SchemaState::foreign : SchemaState::none;
          if (!look.has_schema) look.status.pending = all_migrations();
          return answer(std::move(look.status));
        }
        connection.query(
            kApplied,
            {},
            [status = std::move(look.status), answer](Result<pg::Rows> applied) mutable {
              if (!applied) return answer(fail(std::move(applied).error()));
              judge(status, *applied);
              answer(std::move(status));
            }
        );
      }
  );
}

void Migrator::up(Answer<UpReport> answer) {
  std::make_shared<Up>(connection_, std::move(answer))->begin();
}

}  // namespace pgflow::store
