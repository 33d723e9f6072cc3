// testing::call: one handler with fakes.
#include <pgflow/testing.hpp>

#include "support/catch.hpp"

using namespace pgflow;

namespace {

struct Order {
  std::string item;
  int quantity = 0;
};
struct Price {
  double each = 0;
};
struct Both {
  Price price;
  std::optional<bool> gift;
};
struct Printer {
  std::vector<std::string> printed;
};

auto shop() {
  return flow<"shopV1", Order>({.max_attempts = 4})
      .step<"price">([](const Order& order) { return Price{order.quantity * 2.5}; })
      .step<"gift">(run_if(input(&Order::item) == "ink"), [](const Order&) { return true; })
      .step<"receipt">(
          depends_on<"price", "gift">,
          [](const Both& in, FlowInput<Order> order, Context& context, Printer& printer) {
            printer.printed.push_back(order->item);
            return std::to_string(in.price.each) + (in.gift ? " gift " : " ") +
                   std::to_string(context.attempt()) + (context.last_attempt() ? " last" : "");
          }
      )
      .array<"list">([] { return std::vector<std::int64_t>{1}; })
      .map<"twice">(over<"list">, [](const std::int64_t& n) { return n * 2; })
      .step<"patient">([](const Order&, Context& context) {
        if (context.stop_reason() == StopReason::shutdown) context.throw_if_stopped();
        return static_cast<int>(context.stop_reason());
      })
      .step<"fragile">([](const Order&) -> int { throw PermanentFailure("no"); })
      .step<"count">([](const Order&, Sql& sql) {
        return sql.query<std::int64_t>("select count(*) from orders").at(0);
      });
}

}  // namespace

TEST_CASE("a root step's handler gets the flow's input", "[testing]") {
  CHECK(testing::call<"price">(shop(), {.input = Order{"ink", 2}}).each == 5);
  CHECK(testing::call<"price">(with_step_queues(shop()), {.input = Order{"ink", 2}}).each == 5);
}

TEST_CASE("a dependent step's handler gets a struct named after its dependencies", "[testing]") {
  Printer printer;
  CHECK(
      testing::call<"receipt">(
          shop(),
          {.input = Both{{1}, true}, .flow_input = Order{"pen"}, .attempt = 4, .max_attempts = 4},
          resource(printer)
      ) == "1.000000 gift 4 last"
  );
  CHECK(printer.printed == std::vector<std::string>{"pen"});
}

TEST_CASE("a map's handler gets and gives one element, exact to the last bit", "[testing]") {
  const std::int64_t big = 4'611'686'018'427'387'903;
  CHECK(testing::call<"twice">(shop(), {.input = big}) == 9'223'372'036'854'775'806);
}

TEST_CASE("what a handler throws comes through", "[testing]") {
  CHECK_THROWS_AS(testing::call<"fragile">(shop(), {.input = Order{}}), PermanentFailure);
}

TEST_CASE("an input that does not fit names the place", "[testing]") {
  struct Wrong {
    std::string item;
    std::string quantity;
  };
  CHECK_THROWS_WITH(
      testing::call<"price">(shop(), {.input = Wrong{"ink", "two"}}),
      "/quantity: expected an integer, got \"two\""
  );
}

TEST_CASE("a handler can be called as if it were stopped", "[testing]") {
  const auto flow = shop();
  CHECK(testing::call<"patient">(flow, {.input = Order{}}) == 0);
  CHECK(
      testing::call<"patient">(flow, {.input = Order{}, .stopped = StopReason::timeout}) ==
      static_cast<int>(StopReason::timeout)
  );
  CHECK_THROWS_AS(
      testing::call<"patient">(flow, {.input = Order{}, .stopped = StopReason::shutdown}), Aborted
  );
}

TEST_CASE("the flow's input has to be given to a handler that reads it", "[testing]") {
  Printer printer;
  CHECK_THROWS_WITH(
      testing::call<"receipt">(shop(), {.input = Both{}}, resource(printer)),
      Catch::Contains("\"receipt\"") && Catch::Contains(".flow_input")
  );
}

TEST_CASE("a fake database answers a handler's statements", "[testing]") {
  struct Fake : Sql {
    std::vector<std::string>
    fetch(std::string_view statement, const std::vector<std::optional<std::string>>&) override {
      CHECK(statement == "select count(*) from orders");
      return {R"({"count":9007199254740993})"};
    }
    long change(std::string_view, const std::vector<std::optional<std::string>>&) override {
      return 0;
    }
  } fake;
  CHECK(
      testing::call<"count">(shop(), {.input = Order{}}, resource<Sql>(fake)) ==
      9'007'199'254'740'993
  );
}
