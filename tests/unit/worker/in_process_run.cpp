// testing::run: whole flows in one process, every form of handler, conditions, skips and retries.
#include <map>
#include <pgflow/testing.hpp>
#include <stdexcept>

#include "support/catch.hpp"

using namespace pgflow;
using testing::Status;

namespace {

enum class Plan { free, premium };
struct User {
  std::string name;
  Plan plan;
};
struct Order {
  std::int64_t id;
  User user;
  std::vector<std::string> tags;
};
struct Quote {
  double price;
  bool valid;
};
struct Extra {
  std::string note;
};
struct Row {
  int n;
  bool active;
};
struct Db {
  int calls = 0;
};
struct Fx {
  double rate = 2;
};

Order order_of(std::int64_t id, const char* name, Plan plan, std::vector<std::string> tags) {
  Order order;
  order.id = id;
  order.user.name = name;
  order.user.plan = plan;
  order.tags = std::move(tags);
  return order;
}

Quote quote(const Order& order) {
  return {static_cast<double>(order.id), true};
}

struct FinishInput {
  Quote quote;
  std::optional<Extra> extra;
};
std::string finish_struct(const FinishInput& in, Context& ctx, Db& db) {
  ++db.calls;
  return (in.extra ? in.extra->note : "-") + "/" + ctx.task().step_slug;
}
std::string finish_positional(const Quote& q, const std::optional<Extra>& extra, const Fx& fx) {
  return std::to_string(static_cast<int>(q.price * fx.rate)) + (extra ? extra->note : "-");
}

auto orders() {
  return flow<"orders", Order>({.max_attempts = 4})
      .step<"quote">(quote)
      .step<"extra">(
          run_if(
              input(&Order::user, &User::plan) == Plan::premium &&
              input(&Order::tags).contains("vip")
          ),
          [](const Order& order) { return Extra{order.user.name}; }
      )
      .step<"viaStruct">(depends_on<"quote", "extra">, finish_struct)
      .step<"viaPositions">(depends_on<"quote", "extra">, finish_positional)
      .step<"viaName">(
          depends_on<"quote", "extra">,
          [](const auto& in, Context& ctx) {
            return in["quote"_step].price + (in["extra"_step] ? 1 : 0) + (ctx.attempt() - 1);
          }
      )
      .step<"viaDeps">(
          depends_on<"quote">,
          [](const Deps<Dep<"quote", Quote, false>>& in) { return in.get<"quote">().valid; }
      )
      .step<"noInput">(depends_on<"quote">, [] {})
      .array<"rows">(
          depends_on<"quote">,
          [](const Quote& q, FlowInput<Order> in) {
            std::vector<Row> rows;
            for (int i = 0; i < static_cast<int>(q.price); ++i) {
              rows.push_back({i, !in->tags.empty()});
            }
            return rows;
          }
      )
      .map<"double">(
          over<"rows">,
          [](const Row& row, Context& ctx) { return row.n * 2 + ctx.task().task_index; }
      )
      .step<"sum">(
          depends_on<"double">,
          run_if_not(output<"double">().contains(99)),
          [](const std::vector<int>& values) {
            int sum = 0;
            for (const int value : values) {
              sum += value;
            }
            return sum;
          }
      );
}

}  // namespace

TEST_CASE("every form of handler receives what it asks for", "[testing]") {
  Db db;
  const Fx fx;
  const auto run = testing::run(
      orders(), order_of(3, "ann", Plan::premium, {"vip", "x"}), resource(db), resource(fx)
  );
  INFO(run.error());
  REQUIRE(run.completed());
  CHECK(run.output<"viaStruct">() == "ann/viaStruct");
  CHECK(run.output<"viaPositions">() == "6ann");
  CHECK(run.output<"viaName">() == 4.0);
  CHECK(run.output<"viaDeps">());
  CHECK(run.output<"noInput">() == std::monostate{});
  CHECK(run.output<"sum">() == 0 + 3 + 6);
  CHECK(db.calls == 1);
}

TEST_CASE("a step whose condition does not hold is skipped and its dependents run", "[testing]") {
  Db db;
  Fx fx;
  const auto run =
      testing::run(orders(), order_of(1, "bob", Plan::free, {"vip"}), resource(db), resource(fx));
  REQUIRE(run.completed());
  CHECK(run.status<"extra">() == Status::skipped);
  CHECK(run.output<"viaStruct">() == "-/viaStruct");
  CHECK_THROWS_WITH(run.output<"extra">(), "step \"extra\" was skipped: it has no output");
}

TEST_CASE("conditions fail the run, skip one step, or skip all that follows", "[testing]") {
  const auto f =
      flow<"conditions", std::vector<Row>>()
          .map<"each">(
              run_if(input().contains(item(&Row::active) == true, item(&Row::n) == 1)),
              [](const Row& row) { return row; }
          )
          .step<"whole">(
              depends_on<"each">,
              run_if(output<"each">().contains(item(&Row::n) == 1)),
              when_unmet(fail),
              [](const std::optional<std::vector<Row>>& rows) { return rows->size(); }
          )
          .step<"fallback">(
              depends_on<"each">,
              run_if_not(output<"each">().present()),
              [] { return std::string("was skipped"); }
          )
          .step<"cascade">(
              depends_on<"whole">,
              run_if(output<"whole">() == 2),
              when_unmet(skip_cascade),
              [](const auto& in) { return in["whole"_step]; }
          )
          .step<"tail">(depends_on<"cascade">, [](const std::size_t& n) { return n + 1; });

  const auto all = testing::run(f, {{1, true}, {2, false}});
  REQUIRE(all.completed());
  CHECK(all.output<"tail">() == 3);
  CHECK(all.status<"fallback">() == Status::skipped);

  const auto cascaded = testing::run(f, {{1, true}});
  CHECK(cascaded.completed());
  CHECK(cascaded.status<"cascade">() == Status::skipped);
  CHECK(cascaded.status<"tail">() == Status::skipped);

  const auto failed = testing::run(f, {{1, false}});
  CHECK_FALSE(failed.completed());
  CHECK(failed.error() == "Condition not met");
  CHECK(failed.status<"each">() == Status::skipped);
  CHECK(failed.status<"whole">() == Status::failed);
  CHECK(failed.status<"tail">() == Status::not_run);
}

TEST_CASE("a map over a skipped step or an empty array completes with no elements", "[testing]") {
  const auto f = flow<"maps", int>()
                     .array<"list">(run_if(input() == 1), [](int) { return std::vector<int>(); })
                     .map<"each">(over<"list">, [](int n) { return n; });
  for (const int n : {1, 2}) {
    CAPTURE(n);
    const auto run = testing::run(f, n);
    REQUIRE(run.completed());
    CHECK(run.output<"each">().empty());
    CHECK(run.status<"list">() == (n == 1 ? Status::completed : Status::skipped));
  }
}

TEST_CASE("a failing attempt is retried until the attempts are used up", "[testing]") {
  struct Counter {
    int tries = 0;
  };
  const auto f =
      flow<"retry", int>({.max_attempts = 3})
          .step<"flaky">(
              when_exhausted(skip),
              [](int failures, Counter& counter, Context& ctx) {
                if (++counter.tries <= failures) {
                  throw std::runtime_error(ctx.last_attempt() ? "the last one" : "not yet");
                }
                return counter.tries;
              }
          )
          .step<"after">(depends_on<"flaky">, [](std::optional<int> n) { return n.value_or(-1); })
          .step<"hard">(depends_on<"after">, [](int n) -> int {
            if (n < 0) {
              throw PermanentFailure("gone");
            }
            return n;
          });

  Counter first;
  const auto late = testing::run(f, 2, resource(first));
  REQUIRE(late.completed());
  CHECK(late.attempts<"flaky">() == 3);
  CHECK(late.output<"after">() == 3);

  Counter second;
  const auto never = testing::run(f, 9, resource(second));
  CHECK_FALSE(never.completed());
  CHECK(never.error() == "gone");
  CHECK(never.status<"flaky">() == Status::skipped);
  CHECK(never.attempts<"hard">() == 1);
  CHECK_THROWS_WITH(
      never.output<"flaky">(), "step \"flaky\" was skipped: it has no output (the last one)"
  );
}

TEST_CASE("an output without a JSON form fails the step", "[testing]") {
  const auto f = flow<"nan", int>({.max_attempts = 1}).step<"s">([](int) { return 0.0 / 0.0; });
  const auto run = testing::run(f, 1);
  CHECK(run.error() == "(document): NaN and infinity have no JSON form");
}

TEST_CASE("each_thread makes an object of its own, step queues change nothing", "[testing]") {
  const auto queued =
      with_step_queues(flow<"threads", int>().step<"s">([](int n, Db& db) { return n + db.calls; })
      );
  const auto run = testing::run(queued, 1, each_thread<Db>([] { return Db{41}; }));
  CHECK(run.output<"s">() == 42);
}

TEST_CASE("handlers can be called directly with a flow input of one's own", "[testing]") {
  const auto handler = [](FlowInput<Order> in) { return in->id; };
  CHECK(handler(FlowInput<Order>(order_of(7, "", Plan::free, {}))) == 7);
}

TEST_CASE("a flow is compatible with a platform that covers its needs", "[testing]") {
  using F = decltype(orders());
  struct DbPlatform {
    using provides = types<Db>;
  };
  STATIC_REQUIRE(CompatibleFlow<F, ProcessPlatform, Db, Fx>);
  STATIC_REQUIRE(CompatibleFlow<F, ProcessPlatform, Db, const Fx>);
  STATIC_REQUIRE_FALSE(CompatibleFlow<F, ProcessPlatform, const Db, Fx>);
  STATIC_REQUIRE_FALSE(CompatibleFlow<F, ProcessPlatform, Db>);
  STATIC_REQUIRE_FALSE(CompatibleFlow<F, InProcessPlatform>);
  STATIC_REQUIRE(CompatibleFlow<F, DbPlatform, Fx>);
  STATIC_REQUIRE(CompatibleFlow<StepQueuedFlow<F>, DbPlatform, Fx>);
}
