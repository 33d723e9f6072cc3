// The code of docs/flows.md, which must stand there word for word.
#include <numeric>

#include <pgflow/testing.hpp>

#include "docs/pages.hpp"

using namespace pgflow;

namespace {

// clang-format off
struct Order { std::string item; int quantity = 0; bool express = false; };
struct Price { double each = 0; };
struct Stock { bool enough = false; };
struct Both  { Price price; std::optional<Stock> reserve; };   // members named after the steps

Price price(const Order& order) { return {order.quantity * 2.5}; }
Stock reserve(const Order& order) { return {order.quantity < 100}; }
std::string receipt(const Both& in, FlowInput<Order> order) {
  return order->item + (in.reserve && in.reserve->enough ? ": in stock" : ": back-ordered");
}

struct Payment { std::int64_t id; std::string item; std::optional<std::chrono::sys_time<std::chrono::microseconds>> paid_at; };

Payment pay(const Order& order, Sql& sql) {
  return sql.transaction([&] {
    sql.execute("insert into payments (item) values ($1) on conflict do nothing", order.item);
    return sql.query<Payment>("select * from payments where item = $1", order.item).at(0);
  });
}

auto shop() {
  return flow<"shopV1", Order>({.max_attempts = 4})
      .step<"price">({.timeout = std::chrono::seconds(10)}, price)
      .step<"reserve">(run_if(input(&Order::express) == false), reserve)
      .step<"receipt">(depends_on<"price", "reserve">, receipt);
}

auto resize() {
  return flow<"resizeV1", std::string>()
      .array<"list">([](const std::string& folder) { return std::vector{folder + "/a", folder + "/b"}; })
      .map<"thumb">(over<"list">, [](const std::string& file) { return file.size(); })
      .step<"sum">(depends_on<"thumb">, [](const std::vector<std::size_t>& sizes) {
        return std::accumulate(sizes.begin(), sizes.end(), std::size_t{0});
      });
}

std::string refund(const Price&) { return "refund"; }

auto with_refund() {
  return flow<"refundV1", Order>()
      .step<"price">(price)
      .step<"pay">(pay)
.step<"refund">(depends_on<"price">, run_if(output<"price">(&Price::each) == 0.0), refund)
      ;
}
// clang-format on

struct Payments : Sql {
  std::vector<std::string> fetch(
      std::string_view, const std::vector<std::optional<std::string>>& arguments
  ) override {
    return {R"({"id":7,"item":)" + to_json(*arguments.at(0)) + "}"};
  }
  long change(std::string_view, const std::vector<std::optional<std::string>>&) override {
    return 1;
  }
};

}  // namespace

TEST_CASE("the flows of docs/flows.md do what it says", "[docs]") {
  // clang-format off
const auto run = testing::run(shop(), Order{"ink", 3, true});
CHECK(run.completed());
CHECK(run.status<"reserve">() == testing::Status::skipped);
CHECK(run.output<"receipt">() == "ink: back-ordered");
  // clang-format on
  CHECK(testing::run(shop(), Order{"ink", 3, false}).output<"receipt">() == "ink: in stock");
  CHECK(testing::run(resize(), "pictures").output<"sum">() == 20);
  Payments payments;
  CHECK(
      testing::run(with_refund(), Order{"pen", 0, false}, resource<Sql>(payments))
          .output<"refund">() == "refund"
  );
  const auto paid = testing::run(with_refund(), Order{"pen", 1, false}, resource<Sql>(payments));
  CHECK(paid.status<"refund">() == testing::Status::skipped);
  CHECK(paid.output<"pay">().id == 7);
}

TEST_CASE("the code of docs/flows.md is this file's", "[docs]") {
  test::check_code_of("flows.md", "flows.cpp", 6);
}
