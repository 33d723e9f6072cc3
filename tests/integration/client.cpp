// A program that starts runs and reads them, against a real database; the tests play the worker.
#include <pgflow/client.hpp>

#include <thread>

#include "support/catch.hpp"
#include "support/database.hpp"
#include "support/eventually.hpp"

using namespace pgflow;
using namespace std::chrono_literals;

namespace {

struct Order {
  std::string id;
  std::int64_t cents;
};
struct Quote {
  double price;
};

auto orders() {
  return with_step_queues(
      flow<"clientV1", Order>()
          .step<"quote">([](const Order& o) { return Quote{static_cast<double>(o.cents) / 100}; })
          .step<"gift">(
              depends_on<"quote">,
              run_if(output<"quote">(&Quote::price) == 0.0),
              [](const Quote&) { return std::string("gift"); }
          )
          .step<"ship">(depends_on<"quote">, [](const Quote& q) { return q.price; })
  );
}

// A database in which clientV1 is compiled.
struct Shop {
  Shop() {
    database.value(
        "select pgflow.ensure_flow_compiled('clientV1', '" +
        flow_shape(*flow.wrapped().definition()) + "', 'step')"
    );
  }

  // Plays one task of the step: claims it and completes it with this JSON, or fails it for good.
  void complete(const std::string& step, const std::string& output) const {
    play(step, "complete_tasks", "output", output);
  }
  void fail(const std::string& step, const std::string& error) const {
    play(step, "fail_tasks", "permanent', true, 'error", "\"" + error + "\"");
  }
  void play(
      const std::string& step,
      const std::string& function,
      const std::string& key,
      const std::string& value
  ) const {
    const std::string queue = "clientv1__" + step;
    database.rows(
        "select pgflow.register_worker('" + kWorker + "', '" + queue + "', 'test', 'process')"
    );
    const auto settled = database.value(
        "with claimed as materialized (select * from pgflow.read_and_claim('" + queue +
        "', 'clientV1', '" + step + "', '" + kWorker +
        "', 1)) select run_id || ' ' || step_slug || ' ' || task_index || ' ' || attempt from "
        "claimed where outcome = 'claimed'"
    );
    REQUIRE(settled != "<none>");
    database.rows(
        "select * from pgflow." + function +
        "((select jsonb_agg(jsonb_build_object('run_id', p[1], 'step_slug', p[2], 'task_index', "
        "p[3]::int, '" +
        key + "', '" + value + "'::jsonb)) from string_to_array('" + settled + "', ' ') p))"
    );
  }

  std::string client_backends() const {
    return database.value(
        "select count(pg_terminate_backend(pid)) from pg_stat_activity where datname = "
        "current_database() and application_name = 'pgflow-client'"
    );
  }

  const std::string kWorker = "00000000-0000-4000-8000-000000000001";
  test::Database database;
  decltype(orders()) flow = orders();
};

std::string kind_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const ClientError& error) {
    return error.error().kind;
  }
  return "none";
}

}  // namespace

TEST_CASE("a run is started, read while it runs, and waited for", "[client]") {
  const Shop shop;
  Client client(shop.database.url());
  const std::string id = client.start(shop.flow, {"o-1", 9'007'199'254'740'993});
  CHECK(
      shop.database.value(
          "select input ->> 'cents' from pgflow.runs where run_id = '" + id + "'"
      ) == "9007199254740993"
  );
  auto run = client.read(shop.flow, id);
  CHECK(run.id() == id);
  CHECK(run.status() == RunStatus::started);
  CHECK(run.status<"quote">() == StepStatus::started);
  CHECK(run.status<"ship">() == StepStatus::created);
  CHECK_FALSE(run.output<"quote">());

  shop.complete("quote", R"({"price": 12.5})");
  run = client.wait(shop.flow.wrapped(), id, 0ms);
  CHECK_FALSE(run.ended());
  REQUIRE(run.output<"quote">());
  CHECK(run.output<"quote">()->price == 12.5);
  CHECK(run.status<"gift">() == StepStatus::skipped);
  CHECK(run.skip_reason<"gift">() == "condition_unmet");

  shop.complete("ship", "12.5");
  run = client.wait(shop.flow, id, 10s);
  CHECK(run.completed());
  CHECK(run.output<"ship">() == 12.5);
  CHECK(run.output_json() == R"({"ship":12.5})");
}

TEST_CASE("a failed run says which step failed and why", "[client]") {
  const Shop shop;
  Client client(shop.database.url());
  const std::string id = client.start(shop.flow, {"o-1", 1});
  shop.fail("quote", "no stock");
  const auto run = client.wait(shop.flow, id, 10s);
  CHECK(run.status() == RunStatus::failed);
  CHECK(run.status<"quote">() == StepStatus::failed);
  CHECK(run.error<"quote">() == "no stock");
  CHECK_FALSE(run.output_json());
}

TEST_CASE("many runs are started together, in order", "[client]") {
  const Shop shop;
  Client client(shop.database.url());
  std::vector<Order> inputs;
  for (int i = 0; i < 1'000; ++i) inputs.push_back({"o-" + std::to_string(i), i});
  const auto ids = client.start_many(shop.flow, inputs);
  REQUIRE(ids.size() == inputs.size());
  CHECK(shop.database.value("select count(*) from pgflow.runs where status = 'started'") == "1000");
  CHECK(
      shop.database.value(
          "select input ->> 'id' from pgflow.runs where run_id = '" + ids[321] + "'"
      ) == "o-321"
  );
  CHECK(client.start_many(shop.flow, {}).empty());
}

TEST_CASE("what the client cannot do is an error with a kind", "[client]") {
  const Shop shop;
  Client client(shop.database.url());
  const auto other = flow<"otherV1", int>().step<"a">([](int i) { return i; });
  CHECK(kind_of([&] { client.start(other, 1); }) == "flow_not_compiled");
  const std::string id = client.start(shop.flow, {"o-1", 1});
  CHECK(kind_of([&] { client.read(other, id); }) == "run_of_other_flow");
  CHECK(kind_of([&] {
          client.read(shop.flow, "00000000-0000-4000-8000-00000000000a");
        }) == "run_unknown");
  CHECK(kind_of([&] { client.read(shop.flow, "o-1"); }) == "invalid_uuid");
  CHECK(kind_of([] { Client("postgresql://u:p@ss@host/db"); }) == "database_url");
  Client nobody("host=/nowhere dbname=x");
  CHECK(kind_of([&] { nobody.read(shop.flow, id); }) == "connection_failed");
}

TEST_CASE("a client whose connection was cut asks on a new one", "[client]") {
  const Shop shop;
  Client client(shop.database.url());
  const std::string id = client.start(shop.flow, {"o-1", 1});
  CHECK(shop.client_backends() == "1");
  CHECK(client.read(shop.flow, id).status() == RunStatus::started);
}

TEST_CASE("a start that is cut off in the middle happens once", "[client]") {
  const Shop shop;
  Client client(shop.database.url());
  client.start(shop.flow, {"o-1", 1});
  // The start waits for the lock on the queue until its connection is cut.
  std::thread cutter([&] {
    test::eventually("the start waits", 10s, [&] {
      return shop.database.value(
                 "select count(*) from pg_stat_activity where datname = current_database() and "
                 "application_name = 'pgflow-client' and wait_event_type = 'Lock'"
             ) == "1";
    });
    shop.client_backends();
    shop.database.rows(
        "select pg_terminate_backend(pid) from pg_stat_activity where "
        "datname = current_database() and application_name = 'holder'"
    );
  });
  std::thread holder([&] {
    try {
      shop.database.rows(
          "set application_name = 'holder'; begin; lock pgmq.q_clientv1__quote in access exclusive "
          "mode; select pg_sleep(60)"
      );
    } catch (const std::exception&) {
      // Ended by the cutter.
    }
  });
  test::eventually("the lock is held", 10s, [&] {
    return shop.database.value(
               "select count(*) from pg_locks where relation = 'pgmq.q_clientv1__quote'::regclass "
               "and mode = 'AccessExclusiveLock' and granted"
           ) == "1";
  });
  const std::string id = client.start(shop.flow, {"o-2", 2});
  cutter.join();
  holder.join();
  CHECK(client.read(shop.flow, id).status() == RunStatus::started);
  CHECK(shop.database.value("select count(*) from pgflow.runs") == "2");
}

TEST_CASE("several threads may share a client", "[client]") {
  const Shop shop;
  Client client(shop.database.url());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 25; ++i) client.read(shop.flow, client.start(shop.flow, {"o", i}));
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(shop.database.value("select count(*) from pgflow.runs") == "100");
}
