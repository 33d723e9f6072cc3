// An open connection against a real server: answers, errors, loss, return.
#include "pg/connection.hpp"

#include <signal.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pg/await.hpp"
#include "support/catch.hpp"
#include "support/database.hpp"

using namespace std::chrono_literals;
using namespace pgflow;

namespace {

constexpr auto kLimit = 20s;

pg::ConnectionOptions options_for(const test::Database& database) {
  return {
      .dsn = pg::Dsn::parse(database.url()).value(),
      .application_name = "pgflow-test-connection",
  };
}

Result<void> connect(uv::Loop& loop, pg::Connection& connection) {
  return pg::await<void>(loop, kLimit, [&](auto done) { connection.connect(done); });
}

Result<pg::Rows> ask(
    uv::Loop& loop, pg::Connection& connection, const char* sql, pg::Params params = {}
) {
  return pg::await<pg::Rows>(loop, kLimit, [&](auto done) {
    connection.query({"test", sql}, std::move(params), done);
  });
}

// An open connection on a database of its own.
struct Session {
  Session() { REQUIRE(connect(loop, connection)); }
  uv::Loop loop;
  test::Database database{"template1"};
  pg::Connection connection{loop, options_for(database)};
};

template <class Fact>
void run_until(uv::Loop& loop, Fact fact) {
  bool late = false;
  uv::Timer timer(loop, [&] { late = true; });
  timer.start(kLimit);
  while (!fact() && !late) loop.run_once();
  REQUIRE_FALSE(late);
}

}  // namespace

TEST_CASE("parameters go out and rows come back", "[pg][connection]") {
  Session s;
  const std::vector<MessageId> ids = {MessageId(5), MessageId(9007199254740993)};
  const std::vector<std::string> texts = {"a", R"(b"\,{})", ""};
  const auto id = WorkerId::random();
  const auto rows =
      ask(s.loop,
          s.connection,
          "select $1::text, $2::int, $3::boolean, $4::uuid, ($5::bigint[])[2], ($6::text[])[2], "
          "$7::text"
          "  from generate_series(1, 2)",
          {"Žluť 'x'", -3, true, id, pg::Param::array(ids), pg::Param::array(texts), std::nullopt});
  REQUIRE(rows);
  REQUIRE(rows->size() == 2);
  for (const pg::Row row : *rows) {
    CHECK(row[0].view() == "Žluť 'x'");
    CHECK(row[1].integer() == -3);
    CHECK(row[2].boolean());
    CHECK(row[3].uuid<WorkerIdTag>() == id);
    CHECK(row[4].int64() == 9007199254740993);
    CHECK(row[5].view() == R"(b"\,{})");
    CHECK(row[6].is_null());
    CHECK(row[6].optional_text() == std::nullopt);
  }
  CHECK(
      ask(s.loop, s.connection, "show application_name")->at(0, 0).view() ==
      "pgflow-test-connection"
  );
  CHECK(s.connection.server_version() >= 140000);
}

TEST_CASE(
    "queries are answered in the order they were asked, also before the connection is open",
    "[pg][connection]"
) {
  uv::Loop loop;
  const test::Database database("template1");
  pg::Connection connection(loop, options_for(database));
  std::string order;
  connection.connect([&](Result<void> connected) {
    REQUIRE(connected);
    order += 'c';
  });
  for (const char* digit : {"1", "2", "3"}) {
    connection.query({"digit", "select $1::text"}, {digit}, [&](Result<pg::Rows> rows) {
      order += rows.value()[0][0].text();
      if (order == "c1") {
        connection.query({"digit", "select '4'"}, {}, [&](Result<pg::Rows> more) {
          order += more.value()[0][0].text();
        });
      }
    });
  }
  CHECK(order.empty());
  run_until(loop, [&] { return order.size() == 5; });
  CHECK(order == "c1234");
  CHECK(connection.state() == pg::ConnectionState::idle);
}

TEST_CASE("an error keeps every part of PostgreSQL's own", "[pg][connection]") {
  Session s;
  const auto result = ask(
      s.loop,
      s.connection,
      "do $$ begin raise exception using constraint = 'pgflow_empty_flow', errcode = 'P0001',"
      " message = 'Flow \"x\" has no steps.', detail = 'The detail.', hint = 'Add a step.'; end $$"
  );
  REQUIRE_FALSE(result);
  CHECK(result.error().kind == "empty_flow");
  CHECK(result.error().message == "Flow \"x\" has no steps.");
  CHECK(result.error().detail == "The detail.");
  CHECK(result.error().hint == "Add a step.");
  CHECK(result.error().sqlstate == "P0001");
  CHECK(ask(s.loop, s.connection, "select 1"));
}

TEST_CASE(
    "an error without our prefix is known by its constraint, else by its SQLSTATE",
    "[pg][connection]"
) {
  Session s;
  REQUIRE(ask(s.loop, s.connection, "create table t (id int constraint t_pkey primary key)"));
  REQUIRE(ask(s.loop, s.connection, "insert into t values (1)")->affected() == 1);
  const auto twice = ask(s.loop, s.connection, "insert into t values (1)");
  CHECK(twice.error().kind == "t_pkey");
  CHECK(twice.error().sqlstate == "23505");
  const auto wrong = ask(s.loop, s.connection, "select nonsense");
  CHECK(wrong.error().kind == pg::kDatabaseError);
  CHECK(wrong.error().sqlstate == "42703");
}

TEST_CASE("a script is one transaction and reports its first error", "[pg][connection]") {
  Session s;
  const auto run = [&](const char* sql) {
    return pg::await<pg::Rows>(s.loop, kLimit, [&](auto done) {
      s.connection.script("test", sql, kLimit, done);
    });
  };
  const auto failed = run("create table t (id int); select 1/0; select nonsense");
  REQUIRE_FALSE(failed);
  CHECK(failed.error().sqlstate == "22012");
  CHECK(ask(s.loop, s.connection, "select to_regclass('t')")->at(0, 0).is_null());
  const auto last = run("create table t (id int); select 1; select 2");
  CHECK(last->at(0, 0).view() == "2");
}

TEST_CASE("parameters and rows larger than any buffer go through", "[pg][connection]") {
  Session s;
  const std::string big(20'000'000, 'x');
  const auto rows = ask(s.loop, s.connection, "select $1::text, length($1::text)", {big});
  REQUIRE(rows);
  CHECK(rows->at(0, 1).integer() == 20'000'000);
  CHECK(rows->at(0, 0).view() == big);
}

TEST_CASE("a database that does not exist is no matter of waiting", "[pg][connection]") {
  uv::Loop loop;
  const test::Database database("template1");
  auto options = options_for(database);
  options.dsn = options.dsn.with("dbname", "no_such_database");
  pg::Connection connection(loop, options);
  const auto result = connect(loop, connection);
  REQUIRE_FALSE(result);
  CHECK(result.error().kind == pg::kConnectionFailed);
  CHECK(result.error().sqlstate == "3D000");
  CHECK_FALSE(pg::is_transient(result.error()));
  CHECK(result.error().detail.find("LOCATION") == std::string::npos);
}

TEST_CASE("the second host answers when the first does not", "[pg][connection]") {
  uv::Loop loop;
  const test::Database database("template1");
  auto options = options_for(database);
  const std::string host = options.dsn.options().at("host"),
                    port = options.dsn.options().at("port");
  options.dsn = options.dsn.with("host", "/nonexistent," + host).with("port", "1," + port);
  pg::Connection connection(loop, options);
  CHECK(connect(loop, connection));
}

TEST_CASE(
    "a backend that dies in a query: all that wait hear of it, then the owner, who returns",
    "[pg][connection]"
) {
  Session s;
  std::vector<std::string> heard;
  Error running, waiting, lost;
  s.connection.on_lost([&](Error error) {
    lost = std::move(error);
    heard.emplace_back("lost");
  });
  s.connection.query({"sleeper", "select pg_sleep(60)"}, {}, [&](Result<pg::Rows> rows) {
    running = std::move(rows).error();
    heard.emplace_back("running");
  });
  s.connection.query({"waiter", "select 1"}, {}, [&](Result<pg::Rows> rows) {
    waiting = std::move(rows).error();
    heard.emplace_back("waiting");
  });
  const int pid = s.connection.backend_pid();
  // Sent: the server has it.
  for (int i = 0; i < 10; ++i) s.loop.poll();
  s.database.value("select pg_terminate_backend(" + std::to_string(pid) + ")");
  run_until(s.loop, [&] { return heard.size() == 3; });
  CHECK(heard == std::vector<std::string>{"running", "waiting", "lost"});
  CHECK(running.kind == pg::kConnectionLost);
  CHECK(running.sqlstate == "57P01");
  CHECK(waiting.kind == pg::kConnectionLost);
  CHECK(pg::is_database_down(lost));
  CHECK(s.connection.state() == pg::ConnectionState::broken);
  CHECK(s.connection.backend_pid() == 0);

  REQUIRE(connect(s.loop, s.connection));
  CHECK(ask(s.loop, s.connection, "select 1"));
}

TEST_CASE(
    "an idle connection notices its end by itself, and its owner may return from the callback",
    "[pg][connection]"
) {
  Session s;
  std::optional<Error> lost;
  std::optional<Result<void>> back;
  s.connection.on_lost([&](Error error) {
    lost = std::move(error);
    s.connection.connect([&](Result<void> connected) { back = std::move(connected); });
  });
  s.database.value(
      "select pg_terminate_backend(" + std::to_string(s.connection.backend_pid()) + ")"
  );
  run_until(s.loop, [&] { return back.has_value(); });
  CHECK(lost->kind == pg::kConnectionLost);
  CHECK(lost->sqlstate == "57P01");
  CHECK(back->has_value());
  CHECK(ask(s.loop, s.connection, "select 1"));
}

TEST_CASE("a frozen server is given up when the query's time is over", "[pg][connection]") {
  Session s;
  const int pid = s.connection.backend_pid();
  ::kill(pid, SIGSTOP);
  const auto result = pg::await<pg::Rows>(s.loop, kLimit, [&](auto done) {
    s.connection.query({"frozen", "select 1", 100ms}, {}, done);
  });
  ::kill(pid, SIGCONT);
  REQUIRE_FALSE(result);
  CHECK(result.error().kind == pg::kConnectionLost);
  CHECK(result.error().detail == "No answer to frozen in time.");
  REQUIRE(connect(s.loop, s.connection));
  CHECK(ask(s.loop, s.connection, "select 1"));
}

TEST_CASE("a cancelled query ends, its connection stays", "[pg][connection]") {
  Session s;
  std::optional<Error> error;
  s.connection.query({"sleeper", "select pg_sleep(60)"}, {}, [&](Result<pg::Rows> rows) {
    error = std::move(rows).error();
  });
  for (int i = 0; i < 10; ++i) s.loop.poll();
  // A cancellation that arrives before its query is lost, so it is repeated.
  uv::Timer again(s.loop, [&] { s.connection.cancel(); });
  again.start(10ms, 100ms);
  run_until(s.loop, [&] { return error.has_value(); });
  again.stop();
  CHECK(error->sqlstate == "57014");
  CHECK(s.connection.state() == pg::ConnectionState::idle);
}

TEST_CASE("a connection that is not open refuses, from the loop", "[pg][connection]") {
  uv::Loop loop;
  const test::Database database("template1");
  pg::Connection connection(loop, options_for(database));
  std::optional<Error> error;
  connection.query({"early", "select 1"}, {}, [&](Result<pg::Rows> rows) {
    error = std::move(rows).error();
  });
  CHECK_FALSE(error.has_value());
  run_until(loop, [&] { return error.has_value(); });
  CHECK(error->kind == pg::kConnectionLost);
}

TEST_CASE("close and destruction forget what waits", "[pg][connection]") {
  Session s;
  s.connection.query({"forgotten", "select 1"}, {}, [](Result<pg::Rows>) { FAIL("called"); });
  s.connection.close();
  CHECK(s.connection.state() == pg::ConnectionState::closed);
  s.loop.poll();
  REQUIRE(connect(s.loop, s.connection));

  auto mortal = std::make_unique<pg::Connection>(s.loop, options_for(s.database));
  REQUIRE(connect(s.loop, *mortal));
  bool answered = false;
  mortal->query({"last", "select 1"}, {}, [&](Result<pg::Rows>) {
    mortal.reset();
    answered = true;
  });
  mortal->query({"forgotten", "select 1"}, {}, [](Result<pg::Rows>) { FAIL("called"); });
  run_until(s.loop, [&] { return answered; });
}

TEST_CASE("notifications arrive while nothing is asked", "[pg][connection]") {
  Session s;
  std::string heard;
  s.connection.on_notification([&](std::string_view channel, std::string_view payload) {
    heard = std::string(channel) + "=" + std::string(payload);
  });
  REQUIRE(ask(s.loop, s.connection, "listen pgflow_test"));
  s.database.value("select pg_notify('pgflow_test', 'hello')");
  run_until(s.loop, [&] { return !heard.empty(); });
  CHECK(heard == "pgflow_test=hello");
}

TEST_CASE(
    "a notification that comes with the end of an answer is heard with it", "[pg][connection]"
) {
  Session s;
  std::string heard;
  s.connection.on_notification([&](std::string_view channel, std::string_view payload) {
    heard = std::string(channel) + "=" + std::string(payload);
  });
  REQUIRE(ask(s.loop, s.connection, "listen pgflow_test"));
  // A backend tells its own notifications, and those of others that came while it was busy, between
  // the answer and its last byte.
  CHECK(ask(s.loop, s.connection, "select pg_notify('pgflow_test', 'hello')"));
  CHECK(heard == "pgflow_test=hello");
}

TEST_CASE("a prepared query is parsed once", "[pg][connection]") {
  Session s;
  const pg::Query query{
      .name = "counted",
      .sql = "select $1::int, count(*) from pg_prepared_statements",
      .prepared = true
  };
  const auto answer = [&](std::optional<int> value) {
    std::string text;
    s.connection.query(query, {value}, [&](Result<pg::Rows> rows) {
      text = rows ? std::string((*rows)[0][1].view()) : rows.error().message;
    });
    run_until(s.loop, [&] { return !text.empty(); });
    return text;
  };
  CHECK(answer(1) == "1");
  CHECK(answer(std::nullopt) == "1");

  // What a pooler does: the next backend knows nothing of it.
  REQUIRE(ask(s.loop, s.connection, "deallocate all"));
  CHECK(answer(2) == "0");
  CHECK(answer(3) == "0");
}

TEST_CASE("a prepared query that is wrong is told once", "[pg][connection]") {
  Session s;
  std::vector<std::string> told;
  s.connection.query(
      {.name = "wrong", .sql = "select $1::int from nowhere", .prepared = true},
      {1},
      [&](Result<pg::Rows> rows) { told.push_back(rows ? "rows" : rows.error().sqlstate); }
  );
  s.connection.query({"right", "select 1"}, {}, [&](Result<pg::Rows> rows) {
    told.push_back(rows ? "rows" : rows.error().sqlstate);
  });
  run_until(s.loop, [&] { return told.size() == 2; });
  CHECK(told == std::vector<std::string>{"42P01", "rows"});
}

TEST_CASE(
    "an exception of a callback comes out of the loop, and the connection goes on",
    "[pg][connection]"
) {
  Session s;
  s.connection.query({"thrower", "select 1"}, {}, [](Result<pg::Rows>) {
    throw std::runtime_error("from the callback");
  });
  CHECK_THROWS_WITH(run_until(s.loop, [] { return false; }), "from the callback");
  CHECK(ask(s.loop, s.connection, "select 1"));
}
