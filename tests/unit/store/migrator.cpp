// What the migrator finds, what it does about it, and what it leaves alone.
#include "store/migrator.hpp"

#include <optional>

#include "session.hpp"
#include "sql/bundle.hpp"

using namespace pgflow;
using namespace std::chrono_literals;
using store::Migrator, store::PgmqState, store::SchemaState;
using test::Session;

namespace {

Result<store::SchemaStatus> status_of(Session& s) {
  return s.ask<store::SchemaStatus>([&](auto done) { Migrator(s.connection).status(done); });
}

Result<store::UpReport> bring_up(Session& s) {
  return s.ask<store::UpReport>([&](auto done) { Migrator(s.connection).up(done); });
}

const std::string kNewest = std::to_string(sql::migrations().size());

// Everything that up() may touch, in one text.
std::string fingerprint(const test::Database& database) {
  return database.value(
      "select md5(coalesce(string_agg(o, ',' order by o), '')) from ("
      "  select 'r' || n.nspname || '.' || c.relname as o from pg_class c join pg_namespace n on "
      "n.oid = c.relnamespace"
      "    where n.nspname in ('pgflow', 'pgmq')"
      "  union all select 'p' || p.oid::regprocedure::text || md5(p.prosrc) from pg_proc p"
      "    join pg_namespace n on n.oid = p.pronamespace where n.nspname in ('pgflow', 'pgmq')) "
      "all_objects"
  );
}

// A database that an older program has installed.
void install_first_migration(const test::Database& database) {
  for (const sql::SqlFile& file : sql::pgmq()) database.rows(std::string(file.text));
  const sql::SqlFile& first = sql::migrations().front();
  database.rows(std::string(first.text));
  database.rows(
      "create table pgflow.schema_migrations (version int primary key, name text not null,"
      " checksum text not null, applied_at timestamptz not null default now());"
      "insert into pgflow.schema_migrations (version, name, checksum) values (1, '" +
      std::string(first.name) + "', '" + std::string(first.checksum) + "')"
  );
}

}  // namespace

TEST_CASE(
    "an empty database gets everything, and nothing more the second time", "[store][migrator]"
) {
  Session s("template1");
  const auto before = status_of(s);
  REQUIRE(before);
  CHECK(before->state == SchemaState::none);
  CHECK(before->version == 0);
  CHECK(before->pending.size() == sql::migrations().size());
  CHECK(store::schema_problem(*before)->kind == "schema_missing");

  const auto report = bring_up(s);
  REQUIRE(report);
  CHECK(report->from == 0);
  CHECK(std::to_string(report->to) == kNewest);
  CHECK(report->applied == before->pending);
  CHECK(report->pgmq == PgmqState::fallback);

  const auto after = status_of(s);
  CHECK(after->state == SchemaState::current);
  CHECK(after->pgmq == PgmqState::fallback);
  CHECK(after->pending.empty());
  CHECK(store::schema_problem(*after) == std::nullopt);

  const std::string installed = fingerprint(s.database);
  const auto again = bring_up(s);
  REQUIRE(again);
  CHECK(again->from == again->to);
  CHECK(again->applied.empty());
  CHECK(fingerprint(s.database) == installed);
}

TEST_CASE("the migrator's installation is the one that psql makes", "[store][migrator]") {
  Session s("template1");
  REQUIRE(bring_up(s));
  const Session by_psql("pgflow_template");
  CHECK(fingerprint(s.database) == fingerprint(by_psql.database));
}

TEST_CASE("two migrators at once install once", "[store][migrator]") {
  Session s("template1");
  pg::Connection second(s.loop, {.dsn = s.connection.dsn()});
  REQUIRE(s.ask<void>([&](auto done) { second.connect(done); }));
  std::optional<Result<store::UpReport>> other;
  Migrator(second).up([&](Result<store::UpReport> report) { other = std::move(report); });
  const auto mine = bring_up(s);
  while (!other) s.loop.run_once();
  REQUIRE(mine);
  REQUIRE(*other);
  CHECK(mine->applied.size() + (*other)->applied.size() == sql::migrations().size());
  CHECK(s.database.value("select count(*) from pgflow.schema_migrations") == kNewest);
}

TEST_CASE("an older schema gets what it lacks", "[store][migrator]") {
  Session s("template1");
  install_first_migration(s.database);
  const auto before = status_of(s);
  CHECK(before->state == SchemaState::behind);
  CHECK(before->version == 1);
  CHECK(before->pending.size() == sql::migrations().size() - 1);
  CHECK(store::schema_problem(*before)->kind == "schema_behind");
  CHECK(store::schema_problem(*before)->hint == "Run `pgflow migrate up`.");

  const auto report = bring_up(s);
  REQUIRE(report);
  CHECK(report->from == 1);
  CHECK(status_of(s)->state == SchemaState::current);
}

TEST_CASE("a migration that fails leaves the database as it was", "[store][migrator]") {
  Session s("template1");
  install_first_migration(s.database);
  s.database.rows("alter table pgflow.workers add column revision text");  // what 0003 adds
  const std::string before = fingerprint(s.database);
  const auto report = bring_up(s);
  REQUIRE_FALSE(report);
  CHECK(report.error().sqlstate == "42701");
  CHECK(fingerprint(s.database) == before);
  CHECK(status_of(s)->version == 1);
  CHECK(s.connection.state() == pg::ConnectionState::idle);
}

TEST_CASE("a newer schema is left alone", "[store][migrator]") {
  Session s("pgflow_template");
  s.database.rows(
      "insert into pgflow.schema_migrations (version, name, checksum) values (9999, '9999_future', "
      "'x')"
  );
  const std::string before = fingerprint(s.database);
  CHECK(status_of(s)->state == SchemaState::newer);
  const auto report = bring_up(s);
  REQUIRE_FALSE(report);
  CHECK(report.error().kind == "schema_newer");
  CHECK(report.error().detail.find("9999") != std::string::npos);
  CHECK_FALSE(report.error().hint.empty());
  CHECK(fingerprint(s.database) == before);
}

TEST_CASE("a schema pgflow of somebody else is refused", "[store][migrator]") {
  Session s("template1");
  s.database.rows("create schema pgflow; create table pgflow.flows (flow_slug text)");
  CHECK(status_of(s)->state == SchemaState::foreign);
  const auto report = bring_up(s);
  REQUIRE_FALSE(report);
  CHECK(report.error().kind == "schema_foreign");
  CHECK(s.database.value("select to_regnamespace('pgmq') is null") == "t");
}

TEST_CASE("a migration that changed after it was applied is refused", "[store][migrator]") {
  Session s("pgflow_template");
  s.database.rows("update pgflow.schema_migrations set checksum = 'deadbeef' where version = 2");
  const auto status = status_of(s);
  CHECK(status->state == SchemaState::changed);
  const auto report = bring_up(s);
  REQUIRE_FALSE(report);
  CHECK(report.error().kind == "schema_changed");
  CHECK(report.error().detail.find("0002_step_queues") != std::string::npos);
  CHECK_FALSE(report.error().hint.empty());
}

TEST_CASE("a complete schema pgmq from elsewhere is used as it is", "[store][migrator]") {
  Session s("template1");
  for (const sql::SqlFile& file : sql::pgmq()) s.database.rows(std::string(file.text));
  s.database.rows("drop function pgmq._fallback_version()");
  CHECK(status_of(s)->pgmq == PgmqState::unmarked);
  const auto report = bring_up(s);
  REQUIRE(report);
  CHECK(report->pgmq == PgmqState::unmarked);
  CHECK(store::schema_problem(status_of(s).value()) == std::nullopt);
}

TEST_CASE("half a schema pgmq is refused by naming what it lacks", "[store][migrator]") {
  Session s("template1");
  s.database.rows(
      "create schema pgmq; create function pgmq.create(text) returns void language sql as ''"
  );
  CHECK(status_of(s)->pgmq == PgmqState::unusable);
  const auto report = bring_up(s);
  REQUIRE_FALSE(report);
  CHECK(report.error().kind == "pgmq_unusable");
  CHECK(report.error().detail.find("pgmq.read(text,integer,integer,jsonb)") != std::string::npos);
  CHECK(report.error().detail.find("pgmq.create(text)") == std::string::npos);
  CHECK(s.database.value("select to_regnamespace('pgflow') is null") == "t");
}

TEST_CASE("a schema pgmq of before 1.5 is refused", "[store][migrator]") {
  Session s("template1");
  for (const sql::SqlFile& file : sql::pgmq()) s.database.rows(std::string(file.text));
  s.database.rows("alter type pgmq.message_record drop attribute headers");
  const auto report = bring_up(s);
  REQUIRE_FALSE(report);
  CHECK(report.error().kind == "pgmq_unusable");
  CHECK(report.error().detail.find("headers") != std::string::npos);
  CHECK(s.database.value("select to_regnamespace('pgflow') is null") == "t");
}

TEST_CASE(
    "queues that vanished under an installed schema are not replaced by empty ones",
    "[store][migrator]"
) {
  Session s("pgflow_template");
  s.database.rows("drop schema pgmq cascade");
  const auto report = bring_up(s);
  REQUIRE_FALSE(report);
  CHECK(report.error().kind == "pgmq_missing");
}

TEST_CASE("a role that may not create schemas is told so", "[store][migrator]") {
  Session s("template1");
  const std::string role = "plain_" + s.database.value("select current_database()");
  s.database.rows("create role " + role + " login");
  pg::Connection plain(s.loop, {.dsn = s.connection.dsn().with("user", role)});
  REQUIRE(s.ask<void>([&](auto done) { plain.connect(done); }));
  const auto report = s.ask<store::UpReport>([&](auto done) { Migrator(plain).up(done); });
  plain.close();
  s.database.rows("drop role " + role);
  REQUIRE_FALSE(report);
  CHECK(report.error().sqlstate == "42501");
  CHECK(report.error().hint.find("role") != std::string::npos);
}

TEST_CASE(
    "a connection that breaks while migrating is an error, and nothing is installed",
    "[store][migrator]"
) {
  Session s("template1");
  std::optional<Result<store::UpReport>> report;
  Migrator(s.connection).up([&](Result<store::UpReport> result) { report = std::move(result); });
  s.database.value(
      "select pg_terminate_backend(" + std::to_string(s.connection.backend_pid()) + ")"
  );
  while (!report) s.loop.run_once();
  REQUIRE_FALSE(*report);
  CHECK(report->error().kind == pg::kConnectionLost);
  CHECK(s.database.value("select to_regnamespace('pgflow') is null") == "t");
}
