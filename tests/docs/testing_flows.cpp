// The code of docs/testing-flows.md, which must stand there word for word.
#include <pgflow/testing.hpp>

#include "docs/pages.hpp"
#include "support/database.hpp"

using namespace pgflow;

namespace {

// clang-format off
struct Order { std::string item; int quantity = 0; };
struct Price { double each = 0; };
struct Mailer { virtual ~Mailer() = default; virtual void send(const std::string& text) = 0; };

Price price(const Order& order, Sql& sql) {
  return {sql.query<double>("select price from items where name = $1", order.item).at(0)};
}
std::string confirm(const Price& price, FlowInput<Order> order, Mailer& mailer, Context& context) {
  if (context.last_attempt()) throw PermanentFailure("the mail server is down");
  mailer.send(order->item + " costs " + std::to_string(static_cast<int>(price.each * order->quantity)));
  return "sent";
}

auto shop() {
  return flow<"shopV1", Order>()
      .step<"price">(price)
      .step<"confirm">(depends_on<"price">, confirm);
}

struct FakeMailer : Mailer {
  void send(const std::string& text) override { sent.push_back(text); }
  std::vector<std::string> sent;
};
struct FakeSql : Sql {
  std::vector<std::string> fetch(std::string_view, const std::vector<std::optional<std::string>>& arguments) override {
    return {arguments.at(0) == "ink" ? R"({"price": 2.5})" : R"({"price": 100})"};
  }
  long change(std::string_view, const std::vector<std::optional<std::string>>&) override { return 1; }
};
// clang-format on

auto plain() {
  return flow<"plainV1", Order>().step<"double">([](const Order& order) {
    return order.quantity * 2;
  });
}

}  // namespace

TEST_CASE("handlers and the flow of docs/testing-flows.md are tested as it says", "[docs]") {
  // clang-format off
FakeSql sql;
FakeMailer mailer;
CHECK(testing::call<"price">(shop(), {.input = Order{"ink", 2}}, resource<Sql>(sql)).each == 2.5);

struct In { Price price; };
const auto confirmed = testing::call<"confirm">(
    shop(), {.input = In{{2.5}}, .flow_input = Order{"ink", 2}}, resource<Mailer>(mailer));
CHECK(confirmed == "sent");
CHECK(mailer.sent.at(0) == "ink costs 5");
CHECK_THROWS_AS(
    testing::call<"confirm">(
        shop(), {.input = In{{2.5}}, .flow_input = Order{}, .attempt = 3}, resource<Mailer>(mailer)),
    PermanentFailure);

const auto run = testing::run(shop(), Order{"ink", 2}, resource<Sql>(sql), resource<Mailer>(mailer));
CHECK(run.completed());
CHECK(run.status<"confirm">() == testing::Status::completed);
CHECK(run.attempts<"price">() == 1);
CHECK(run.output<"price">().each == 2.5);
  // clang-format on
}

TEST_CASE("the database of docs/testing-flows.md works as it says", "[docs]") {
  // clang-format off
testing::Database database;
const auto run = testing::run_flow(database, with_step_queues(plain()), Order{"ink", 2});
CHECK(run.completed());
CHECK(run.output<"double">() == 4);
  // clang-format on
}

TEST_CASE("the code of docs/testing-flows.md is this file's", "[docs]") {
  test::check_code_of("testing-flows.md", "testing_flows.cpp", 5);
}
