// testing::Database and testing::run_flow: a flow with real workers on a throw-away database.
#include <pgflow/testing.hpp>

#include <filesystem>

#include "support/catch.hpp"
#include "support/database.hpp"

using namespace pgflow;

namespace {

struct Order {
  std::string item;
  std::int64_t quantity = 0;
};
struct Counter {
  std::atomic<int> calls{0};
};

auto shop() {
  return flow<"shopV1", Order>({.max_attempts = 2, .base_delay = std::chrono::seconds(1)})
      .step<"price">([](const Order& order, Counter& counter, Context& context) {
        ++counter.calls;
        if (order.item == "rare" && context.attempt() == 1) throw std::runtime_error("sold out");
        return order.quantity * 2;
      })
      .step<"gift">(
          depends_on<"price">,
          run_if(output<"price">() == 0),
          [](const std::int64_t&) { return true; }
      )
      .step<"note">(depends_on<"price">, [](const std::int64_t& price, Sql& sql) {
        return sql.query<std::string>("select current_setting('application_name')").at(0) + " " +
               std::to_string(price);
      });
}

// Other tests have theirs on the same server.
std::string name_of(const testing::Database& database) {
  const std::string way = database.connection_string();
  const std::size_t start = way.find("pgflow_testing_");
  REQUIRE(start != std::string::npos);
  return way.substr(
      start, way.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_", start) - start
  );
}

std::string count_of(const test::Database& neighbour, const std::string& name) {
  return neighbour.value("select count(*) from pg_database where datname = '" + name + "'");
}

}  // namespace

TEST_CASE(
    "a step-queued flow runs with a worker a step, and its database is gone afterwards", "[testing]"
) {
  const test::Database neighbour;
  std::string name;
  {
    const testing::Database database(neighbour.url());
    name = name_of(database);
    Counter counter;
    const auto run = testing::run_flow(
        database, with_step_queues(shop()), {"ink", 4'611'686'018'427'387'900}, resource(counter)
    );
    REQUIRE(run.completed());
    CHECK(run.output<"price">() == 9'223'372'036'854'775'800);
    CHECK(run.status<"gift">() == StepStatus::skipped);
    CHECK_THAT(
        *run.output<"note">(),
        Catch::StartsWith("pgflow:") && Catch::EndsWith(" 9223372036854775800")
    );
    // The same database takes the next run, also with a retry.
    const auto second =
        testing::run_flow(database, with_step_queues(shop()), {"rare", 1}, resource(counter));
    CHECK(second.completed());
    CHECK(counter.calls == 3);
    CHECK(count_of(neighbour, name) == "1");
  }
  CHECK(count_of(neighbour, name) == "0");
}

TEST_CASE("a plain flow runs with one worker on a private server", "[testing]") {
  std::string socket;
  {
    const testing::Database database;
    Counter counter;
    const auto run = testing::run_flow(database, shop(), {"ink", 0}, resource(counter));
    CHECK(run.completed());
    CHECK(run.output<"gift">() == true);
    socket = database.connection_string();
    socket = socket.substr(socket.find('/'));
    socket = socket.substr(0, socket.find(' '));
    CHECK(std::filesystem::exists(socket));
  }
  CHECK_FALSE(std::filesystem::exists(socket + "/.s.PGSQL.5432"));
}

TEST_CASE("a flow that fails says why", "[testing]") {
  const test::Database neighbour;
  const testing::Database database(neighbour.url());
  const auto broken =
      flow<"brokenV1", Order>({.max_attempts = 1}).step<"break">([](const Order&) -> int {
        throw PermanentFailure("cannot be done");
      });
  const auto run = testing::run_flow(database, broken, {"ink", 1});
  CHECK(run.status() == RunStatus::failed);
  CHECK(run.error<"break">() == "cannot be done");
}

TEST_CASE("a worker that cannot start throws its reason", "[testing]") {
  const test::Database neighbour;
  const testing::Database database(neighbour.url());
  const auto one = flow<"sameV1", Order>().step<"a">([](const Order&) { return 1; });
  const auto other = flow<"sameV1", Order>().step<"b">([](const Order&) { return 1; });
  CHECK(testing::run_flow(database, one, {"ink", 1}).completed());
  try {
    testing::run_flow(database, other, {"ink", 1});
    FAIL("it started");
  } catch (const Exception& error) {
    CHECK(error.error().kind == "flow_shape_mismatch");
  }
}
