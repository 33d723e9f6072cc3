// Looks at the schema, judges it, and executes the scripts of migration_script in one transaction.
#include "store/migrator.hpp"

#include <charconv>
#include <map>
#include <memory>

#include "sql/bundle.hpp"
#include "store/migration_script.hpp"

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
    "'pgmq.validate_queue_name(text)', "
    "'pgmq.format_table_name(text,text)',"
    "    'pgmq.send_batch(text,jsonb[],integer)', 'pgmq.read(text,integer,integer,jsonb)',"
    "    'pgmq.set_vt(text,bigint,integer)', 'pgmq.archive(text,bigint)', "
    "'pgmq.archive(text,bigint[])',"
    "    'pgmq.delete(text,bigint[])']) needed where to_regprocedure(needed) is null),"
    "  exists (select from pg_catalog.pg_attribute a"
    "    where a.attrelid = to_regclass('pgmq.message_record') and a.attname = 'headers')",
};
constexpr pg::Query kApplied{
    "list_migrations",
    "select version, name, checksum from pgflow.schema_migrations order by version",
};

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
  status.wanted = newest_version();
  const std::string installed = row[2].text(), offered = row[3].text(), missing = row[6].text();
  const bool has_pgmq_schema = row[4].boolean(), is_ours = row[5].boolean();
  const bool has_headers = row[7].boolean();
  if (!installed.empty() && !at_least(installed, kPgmqMajor, kPgmqMinor)) {
    status.pgmq = PgmqState::unusable;
    status.detail = "The extension pgmq is version " + installed + "; 1.5 or later is needed.";
  } else if (has_pgmq_schema && !missing.empty()) {
    status.pgmq = PgmqState::unusable;
    status.detail = "The schema pgmq lacks " + missing + ".";
  } else if (has_pgmq_schema && !has_headers) {
    status.pgmq = PgmqState::unusable;
    status.detail = "Its messages have no headers, as before 1.5.";
  } else if (!installed.empty()) {
    status.pgmq = PgmqState::extension;
  } else if (has_pgmq_schema) {
    status.pgmq = is_ours ? PgmqState::fallback : PgmqState::unmarked;
  } else if (!offered.empty() && at_least(offered, kPgmqMajor, kPgmqMinor)) {
    status.pgmq = PgmqState::offered;
  }
  return look;
}

std::vector<std::string> migrations_after(int version) {
  std::vector<std::string> names;
  for (int missing = version + 1; missing <= newest_version(); ++missing)
    names.emplace_back(migration_name(missing));
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
  int version = 0;
  for (const sql::SqlFile& file : sql::migrations()) {
    if (++version > status.version) break;
    const auto found = known.find(version);
    if (found != known.end() && found->second.second == file.checksum) continue;
    status.state = SchemaState::changed;
    status.detail =
        found == known.end()
            ? "Migration " + std::string(file.name) + " is not recorded, a later one is."
            : "Migration " + found->second.first + " was applied with checksum " +
                  found->second.second.substr(0, 12) + ", this program has " +
                  std::string(file.name) + " with " + std::string(file.checksum.substr(0, 12)) +
                  ".";
    return;
  }
  status.pending = migrations_after(status.version);
  status.state = status.pending.empty() ? SchemaState::current : SchemaState::behind;
}

std::optional<Error> pgmq_problem(const SchemaStatus& status);

// What keeps up() from beginning.
std::optional<Error> obstacle(const SchemaStatus& status, bool adopt) {
  switch (status.state) {
    case SchemaState::none:
      if (status.pgmq != PgmqState::unusable) return std::nullopt;
      return pgmq_problem(status);
    case SchemaState::foreign:
      if (adopt) return pgmq_problem(status);
      return schema_problem(status);
    case SchemaState::behind:
    case SchemaState::current:
      return pgmq_problem(status);
    default:
      return schema_problem(status);
  }
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

// One transaction under the migrators' lock, in steps; a step that fails rolls back and ends it.
class Transaction : public std::enable_shared_from_this<Transaction> {
 public:
  using OnFailure = std::function<void(Error)>;

  Transaction(pg::Connection& connection, OnFailure failed)
      : connection_(connection), failed_(std::move(failed)) {}

  // Gives the status as it is under the lock: what another migrator did is seen.
  void begin(std::function<void(SchemaStatus)> then) {
    run("begin_migration", begin_script(), [self = shared_from_this(), then](const pg::Rows&) {
      Migrator(self->connection_).status([self, then](Result<SchemaStatus> found) {
        if (!found) return self->give_up(std::move(found).error());
        then(std::move(*found));
      });
    });
  }

  void run(std::string_view name, std::string script, std::function<void(pg::Rows)> then) {
    connection_.script(
        name,
        std::move(script),
        kLongest,
        [self = shared_from_this(), then = std::move(then)](Result<pg::Rows> done) {
          if (!done) return self->give_up(std::move(done).error());
          then(std::move(*done));
        }
    );
  }

  void commit(std::function<void()> then) {
    connection_.script(
        "commit_migration",
        "commit",
        kLongest,
        [self = shared_from_this(), then = std::move(then)](Result<pg::Rows> committed) {
          if (!committed) return self->failed_(explained(std::move(committed).error()));
          then();
        }
    );
  }

  void roll_back(std::function<void()> then) {
    // A lost connection has rolled back already, and refuses.
    connection_.script(
        "roll_back_migration",
        "rollback",
        minutes(1),
        [self = shared_from_this(), then = std::move(then)](const Result<pg::Rows>&) { then(); }
    );
  }

  void give_up(Error why) {
    roll_back([self = shared_from_this(), why = explained(std::move(why))] { self->failed_(why); });
  }

 private:
  pg::Connection& connection_;
  OnFailure failed_;
};

// Every function of ours as a fingerprint: its text, its attributes and who may call it.
std::string functions_query() {
  return "select p.oid::regprocedure::text,"
         "    md5(pg_get_functiondef(p.oid) || coalesce(p.proacl::text, ''))"
         "  from pg_catalog.pg_proc p"
         "  where p.pronamespace = 'pgflow'::regnamespace and p.proname = any ('" +
         function_names() +
         "')"
         "    or p.pronamespace = 'pgmq'::regnamespace"
         "      and to_regprocedure('pgmq._fallback_version()') is not null";
}

using Functions = std::map<std::string, std::string>;

Functions functions_in(const pg::Rows& rows) {
  Functions functions;
  for (const pg::Row row : rows) functions.emplace(row[0].text(), row[1].text());
  return functions;
}

// What an installation would change.
void compare(ValidateReport& report, const Functions& found, const Functions& shipped) {
  report.functions = shipped.size();
  for (const auto& [signature, fingerprint] : shipped) {
    const auto at = found.find(signature);
    if (at != found.end() && at->second == fingerprint) continue;
    report.problems.push_back({
        .kind = at == found.end() ? "function_missing" : "function_changed",
        .message = "Function " + signature +
                   (at == found.end() ? " is missing." : " is not as this program ships it."),
        .hint = "`pgflow migrate up` puts the functions of this program back.",
    });
  }
}

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
            "Update the extension (alter extension pgmq update), complete the installation, or "
            "move a half-installed schema pgmq away (alter schema pgmq rename to pgmq_before).",
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
          .hint =
              "If upstream pgflow 0.16 or 0.17 installed it, stop its workers and run `pgflow "
              "migrate up --adopt`. Otherwise use another database, or move that schema away.",
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
          if (!look.has_schema) look.status.pending = migrations_after(0);
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

void Migrator::up(UpOptions options, Answer<UpReport> answer) {
  auto work = std::make_shared<Transaction>(connection_, [answer](Error why) {
    answer(fail(std::move(why)));
  });
  work->begin([work, answer, options](const SchemaStatus& status) {
    if (auto problem = obstacle(status, options.adopt)) return work->give_up(std::move(*problem));
    const bool adopted = status.state == SchemaState::foreign;
    UpReport report{
        .from = status.version,
        .to = status.wanted,
        .applied = adopted ? migrations_after(0) : status.pending,
        .adopted = adopted,
        .pgmq = status.pgmq,
    };
    if (report.pgmq == PgmqState::offered) report.pgmq = PgmqState::extension;
    if (report.pgmq == PgmqState::none) report.pgmq = PgmqState::fallback;
    work->run(
        "install_schema",
        adopted ? adoption_script() : up_script(status.version, status.wanted),
        [work, answer, report](const pg::Rows&) {
          work->commit([answer, report] { answer(report); });
        }
    );
  });
}

void Migrator::down(std::optional<int> to, Answer<DownReport> answer) {
  auto work = std::make_shared<Transaction>(connection_, [answer](Error why) {
    answer(fail(std::move(why)));
  });
  work->begin([work, answer, to](const SchemaStatus& status) {
    if (status.state != SchemaState::current && status.state != SchemaState::behind) {
      return work->give_up(*schema_problem(status));
    }
    const int target = to.value_or(status.version - 1);
    if (target < 1 || target > status.version) {
      return work->give_up({
          .kind = "no_way_back",
          .message = "There is no way back from version " + std::to_string(status.version) +
                     " to version " + std::to_string(target) + ".",
          .detail = target < 1 ? "The first migration makes the tables; only dropping the schema "
                                 "undoes it."
                               : "That is not an earlier version.",
          .hint = target < 1 ? "To remove pgflow with all its data: drop schema pgflow cascade"
                             : "`pgflow migrate up` goes forward.",
      });
    }
    DownReport report{.from = status.version, .to = target, .undone = {}};
    for (int version = status.version; version > target; --version)
      report.undone.emplace_back(migration_name(version));
    if (report.undone.empty()) return work->roll_back([answer, report] { answer(report); });
    work->run("undo_migrations", down_script(status.version, target), [=](const pg::Rows&) {
      work->commit([answer, report] { answer(report); });
    });
  });
}

void Migrator::validate(Answer<ValidateReport> answer) {
  auto report = std::make_shared<ValidateReport>();
  // What keeps the rehearsal from its end is what would keep up() from it.
  auto work = std::make_shared<Transaction>(connection_, [answer, report](Error why) {
    if (why.kind == pg::kConnectionLost) return answer(fail(std::move(why)));
    report->problems.push_back(std::move(why));
    answer(*report);
  });
  work->begin([work, answer, report](const SchemaStatus& status) {
    report->status = status;
    if (auto problem = schema_problem(status)) report->problems.push_back(std::move(*problem));
    if (obstacle(status, false) || status.state == SchemaState::none) {
      return work->roll_back([answer, report] { answer(*report); });
    }
    work->run("list_functions", functions_query(), [=](const pg::Rows& rows) {
      auto found = std::make_shared<Functions>(functions_in(rows));
      const int version = report->status.version;
      work->run("rehearse", up_script(version, report->status.wanted), [=](const pg::Rows&) {
        work->run("list_functions", functions_query(), [=](const pg::Rows& after) {
          if (report->status.state == SchemaState::current)
            compare(*report, *found, functions_in(after));
          work->roll_back([answer, report] { answer(*report); });
        });
      });
    });
  });
}

}  // namespace pgflow::store
