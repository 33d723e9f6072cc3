#include "supervisor/database.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "base/did_you_mean.hpp"
#include "pg/await.hpp"
#include "pg/connection.hpp"
#include "settings/load.hpp"
#include "store/migrator.hpp"
#include "supervisor/commands/report.hpp"
#include "supervisor/project.hpp"

namespace pgflow::cli {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds kConnectLimit = 10s;
constexpr std::chrono::milliseconds kQueryLimit = 5min;

std::optional<std::string> variable(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

Outcome<std::optional<DatabaseAddress>> from_config(const std::filesystem::path& file) {
  auto database = settings::load_database(file);
  if (!database) return tl::unexpected(config_failure(database.error()));
  if (database->url.empty()) return std::nullopt;  // the project's own
  return DatabaseAddress{database->url, database->url_source};
}

}  // namespace

Outcome<DatabaseAddress> find_database(const Common& common) {
  if (common.database_url) return DatabaseAddress{*common.database_url, "--database-url"};
  for (const char* name : {"DATABASE_URL", "EDGE_WORKER_DB_URL"}) {
    if (std::optional<std::string> url = variable(name)) return DatabaseAddress{*url, name};
  }
  for (const char* name : {"PGHOST", "PGHOSTADDR", "PGSERVICE", "PGDATABASE"}) {
    if (variable(name)) return DatabaseAddress{"", name};
  }
  if (common.config) {
    Outcome<std::optional<DatabaseAddress>> configured = from_config(*common.config);
    if (!configured) return tl::unexpected(configured.error());
    if (*configured) return **configured;
  }
  if (std::optional<local_pg::Endpoint> embedded = running_database(project_of(common.config))) {
    return DatabaseAddress{embedded->uri(), "the project's own database"};
  }
  return refuse(
      Exit::unavailable,
      "which database?",
      "No --database-url, DATABASE_URL, EDGE_WORKER_DB_URL, PGHOST or config file names one, and "
      "no `pgflow dev` runs "
      "in this folder.",
      "start `pgflow dev`, or pass --database-url postgresql://user@host/database"
  );
}

struct Database::Session {
  uv::Loop loop;
  pg::Connection connection;

  explicit Session(pg::Dsn dsn)
      : connection(
            loop,
            {
                .dsn = std::move(dsn),
                .application_name = "pgflow-cli",
                .connect_timeout = kConnectLimit,
                .query_timeout = kQueryLimit,
            }
        ) {}
};

Database::Database(std::unique_ptr<Session> session) : session_(std::move(session)) {}
Database::~Database() = default;

uv::Loop& Database::loop() {
  return session_->loop;
}
pg::Connection& Database::connection() {
  return session_->connection;
}

Outcome<std::unique_ptr<Database>> Database::open(const Common& common) {
  Outcome<DatabaseAddress> address = find_database(common);
  if (!address) return tl::unexpected(address.error());
  return connect(*address);
}

Outcome<std::unique_ptr<Database>> Database::open_with_schema(const Common& common) {
  Outcome<std::unique_ptr<Database>> database = open(common);
  if (!database) return database;
  if (Outcome<void> current = (*database)->require_schema(); !current)
    return tl::unexpected(current.error());
  return database;
}

Outcome<std::unique_ptr<Database>> Database::connect(const DatabaseAddress& address) {
  Result<pg::Dsn> dsn = pg::Dsn::parse(address.url);
  if (!dsn) {
    Error error = dsn.error();
    if (error.detail.empty()) error.detail = "It comes from " + address.source + ".";
    return tl::unexpected(Failure{Exit::usage, std::move(error)});
  }
  auto session = std::make_unique<Session>(*dsn);
  Result<void> connected = pg::await<void>(session->loop, kConnectLimit + 1s, [&](auto done) {
    session->connection.connect(std::move(done));
  });
  if (!connected) {
    Failure failed = failure(connected.error());
    failed.error.hint += fmt::format(" The URL comes from {}.", address.source);
    return tl::unexpected(std::move(failed));
  }
  return std::unique_ptr<Database>(new Database(std::move(session)));
}

Outcome<pg::Rows> Database::rows(std::string_view sql, const Parameters& parameters) {
  return await<pg::Rows>([&](auto done) {
    connection().query(
        {"cli", sql}, pg::Params(parameters.begin(), parameters.end()), std::move(done)
    );
  });
}

Outcome<std::optional<std::string>> Database::value(
    std::string_view sql, const Parameters& parameters
) {
  return rows(sql, parameters).map([](const pg::Rows& found) {
    return found.empty() ? std::nullopt : found.at(0, 0).optional_text();
  });
}

Outcome<std::vector<std::string>> Database::column(
    std::string_view sql, const Parameters& parameters
) {
  return rows(sql, parameters).map([](const pg::Rows& found) {
    std::vector<std::string> texts;
    for (const pg::Row row : found) texts.push_back(row[0].text());
    return texts;
  });
}

Outcome<void> Database::require_schema() {
  auto status = await<store::SchemaStatus>([&](auto done) {
    store::Migrator(connection()).status(std::move(done));
  });
  if (!status) return tl::unexpected(status.error());
  std::optional<Error> problem = store::schema_problem(*status);
  if (!problem) return {};
  if (problem->detail.empty()) problem->detail = "Database: " + connection().dsn().describe() + ".";
  return tl::unexpected(failure(std::move(*problem)));
}

Outcome<void> require_flow(Database& database, const std::string& flow) {
  Outcome<std::vector<std::string>> known =
      database.column("select flow_slug from pgflow.flows order by flow_slug");
  if (!known) return tl::unexpected(known.error());
  if (std::ranges::find(*known, flow) != known->end()) return {};
  std::string hint = did_you_mean_hint(flow, *known);
  if (hint.empty()) {
    hint = known->empty() ? "No flow is compiled yet; `pgflow up` and `pgflow dev` compile the "
                            "flows of their config."
                          : "`pgflow status` lists the flows.";
  }
  return refuse(
      Exit::not_found,
      fmt::format("no flow \"{}\" in this database", flow),
      fmt::format("Database: {}.", database.connection().dsn().describe()),
      hint
  );
}

std::string array_text(const std::vector<std::string>& elements) {
  return *pg::Param::array(elements).text();
}

}  // namespace pgflow::cli
