// The Sql that a worker gives to its handlers, against a real database.
#include "worker/handler_sql.hpp"

#include <thread>

#include "support/catch.hpp"
#include "support/database.hpp"
#include "support/eventually.hpp"

using namespace pgflow;
using namespace std::chrono_literals;

namespace {

enum class Colour { red, green };
struct Part {
  std::int64_t id;
  std::string name;
  std::optional<double> weight;
  std::vector<std::string> tags;
  std::chrono::sys_time<std::chrono::microseconds> made;
};

// One handler thread.
struct Thread {
  Thread() { database.rows("create table parts (id bigint primary key, name text)"); }

  std::string count() const { return database.value("select count(*) from parts"); }
  std::string backends() const {
    return database.value(
        "select count(*) from pg_stat_activity where application_name = 'pgflow:me' and datname = "
        "current_database()"
    );
  }

  test::Database database;
  std::shared_ptr<void> owner =
      handler_sql(pg::Dsn::parse(database.url()).value(), "pgflow:me").make();
  Sql& sql = *static_cast<Sql*>(owner.get());
};

Error error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const SqlError& error) {
    return error.error();
  }
  return {"none", ""};
}

}  // namespace

TEST_CASE("rows are read as structs, exact to the last bit", "[sql]") {
  const Thread thread;
  const auto parts = thread.sql.query<Part>(
      "select $1::bigint as id, $2::text as name, $3::float8 as weight, $4::text[] as tags, "
      "$5::timestamptz as made -- all kinds\n;",
      std::int64_t{9'223'372'036'854'775'807},
      "bolt \"M8\"",
      std::optional<double>(),
      std::vector<std::string>{"a,b", "c\"\\d", ""},
      std::chrono::sys_time<std::chrono::microseconds>(1'700'000'000'123'456us)
  );
  REQUIRE(parts.size() == 1);
  CHECK(parts[0].id == 9'223'372'036'854'775'807);
  CHECK(parts[0].name == "bolt \"M8\"");
  CHECK_FALSE(parts[0].weight);
  CHECK(parts[0].tags == std::vector<std::string>{"a,b", "c\"\\d", ""});
  CHECK(parts[0].made.time_since_epoch() == 1'700'000'000'123'456us);
}

TEST_CASE("one column is read as one value", "[sql]") {
  const Thread thread;
  CHECK(thread.sql.query<int>("values (1), (2)") == std::vector{1, 2});
  CHECK(
      thread.sql.query<std::string>("select 'x' where $1", true) == std::vector<std::string>{"x"}
  );
  CHECK(thread.sql.query<Colour>("select $1::text", Colour::green).at(0) == Colour::green);
  CHECK(
      thread.sql.query<int>("select sum(n) from unnest($1::int[]) n", std::vector{1, 2, 3}).at(0) ==
      6
  );
  CHECK(
      thread.sql.query<int>("select ($1::jsonb -> 'b')::int", std::map<std::string, int>{{"b", 7}})
          .at(0) == 7
  );
  CHECK(thread.sql.query<std::optional<int>>("select $1::int", std::nullopt).at(0) == std::nullopt);
  CHECK(error_of([&] { thread.sql.query<int>("select 1 as a, 2 as b"); }).kind == "one_column");
  CHECK_THROWS_AS(thread.sql.query<int>("select 'x'::text"), JsonError);
}

TEST_CASE("a connection is opened by the first statement and kept", "[sql]") {
  const Thread thread;
  CHECK(thread.backends() == "0");
  CHECK(thread.sql.execute("insert into parts values (1, 'a'), (2, 'b')") == 2);
  const auto pid = thread.sql.query<int>("select pg_backend_pid()");
  CHECK(thread.sql.query<int>("select pg_backend_pid()") == pid);
  CHECK(thread.backends() == "1");
  CHECK(thread.count() == "2");
}

TEST_CASE("an error has PostgreSQL's fields", "[sql]") {
  const Thread thread;
  thread.sql.execute("insert into parts values (1, 'a')");
  const Error error = error_of([&] { thread.sql.execute("insert into parts values (1, 'b')"); });
  CHECK(error.sqlstate == "23505");
  CHECK(error.kind == "parts_pkey");
  CHECK(error.detail == "Key (id)=(1) already exists.");
  CHECK(error_of([&] { thread.sql.query<int>("select nonsense"); }).sqlstate == "42703");
  CHECK(thread.sql.query<int>("select 1") == std::vector{1});
}

TEST_CASE("a transaction is stored whole or not at all", "[sql]") {
  const Thread thread;
  Sql& sql = thread.sql;
  const int seen = sql.transaction([&] {
    sql.execute("insert into parts values (1, 'a')");
    CHECK(thread.count() == "0");
    return sql.query<int>("select count(*) from parts").at(0);
  });
  CHECK(seen == 1);
  CHECK(thread.count() == "1");

  CHECK_THROWS_AS(
      sql.transaction([&] {
        sql.execute("insert into parts values (2, 'b')");
        throw std::out_of_range("mine");
      }),
      std::out_of_range
  );
  CHECK(thread.count() == "1");

  // An error that the handler swallows must not become a silent rollback.
  const Error swallowed = error_of([&] {
    sql.transaction([&] {
      sql.execute("insert into parts values (2, 'b')");
      error_of([&] { sql.execute("insert into parts values (1, 'a')"); });
    });
  });
  CHECK(swallowed.kind == "transaction_failed");
  CHECK(thread.count() == "1");

  const Error nested = error_of([&] { sql.transaction([&] { sql.transaction([] {}); }); });
  CHECK(nested.kind == "transaction_open");
  sql.transaction([&] { sql.execute("insert into parts values (2, 'b')"); });
  CHECK(thread.count() == "2");
}

TEST_CASE("a lost connection is opened again, but not in the middle of a transaction", "[sql]") {
  const Thread thread;
  Sql& sql = thread.sql;
  const auto cut = [&] {
    thread.database.rows(
        "select pg_terminate_backend(pid, 5000) from pg_stat_activity where "
        "datname = current_database() and application_name = 'pgflow:me'"
    );
  };
  CHECK(sql.query<int>("select 1") == std::vector{1});
  cut();
  CHECK(sql.query<int>("select 2") == std::vector{2});
  const Error error = error_of([&] {
    sql.transaction([&] {
      sql.execute("insert into parts values (1, 'a')");
      cut();
      error_of([&] { sql.execute("insert into parts values (2, 'b')"); });
      sql.execute("insert into parts values (3, 'c')");
    });
  });
  CHECK(error.kind == "connection_lost");
  CHECK(thread.count() == "0");
  CHECK(sql.execute("insert into parts values (4, 'd')") == 1);
}

TEST_CASE("a stop cancels the running statement", "[sql]") {
  const Thread thread;
  std::stop_source stop;
  thread.sql.serve(stop.get_token());
  std::jthread stopper([&] {
    test::eventually("the statement runs", 10s, [&] {
      return thread.database.value(
                 "select count(*) from pg_stat_activity where datname = current_database() and "
                 "query like '%pg_sleep(77)%' and "
                 "state = 'active' and pid <> pg_backend_pid()"
             ) == "1";
    });
    stop.request_stop();
  });
  CHECK(error_of([&] {
          thread.sql.transaction([&] {
            thread.sql.execute("insert into parts values (1, 'a')");
            thread.sql.execute("select pg_sleep(77)");
          });
        }).sqlstate == "57014");
  CHECK(thread.count() == "0");

  // The thread's next task is not met by it.
  thread.sql.serve(std::stop_token());
  for (int i = 0; i < 20; ++i) CHECK(thread.sql.query<int>("select 1") == std::vector{1});
}

TEST_CASE("what a task left open does not reach the next one", "[sql]") {
  const Thread thread;
  thread.sql.execute("begin");
  thread.sql.execute("insert into parts values (1, 'a')");
  thread.sql.serve(std::stop_token());
  CHECK(thread.sql.execute("insert into parts values (2, 'b')") == 1);
  CHECK(thread.database.value("select id from parts") == "2");
}

TEST_CASE("COPY is refused", "[sql]") {
  const Thread thread;
  for (const char* statement : {"copy parts to stdout", "copy parts from stdin"}) {
    CHECK(error_of([&] { thread.sql.execute(statement); }).kind == "copy_refused");
    CHECK(thread.sql.query<int>("select 1") == std::vector{1});
  }
}
