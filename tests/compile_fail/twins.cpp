// The compile-pass twin of each group in cases.txt: the nearest code that must compile.
#include "prelude.hpp"

namespace {

// Dependencies exist, stand before, are named once.
[[maybe_unused]] auto dependencies() {
  return base()
      .step<"deliver">(depends_on<"classify">, deliver)
      .step<"both">(depends_on<"deliver", "classify">, [](const Delivered&, const Classified&) {
        return 1;
      });
}

// Step slugs are valid and unique.
[[maybe_unused]] auto slugs_with_single_underscores() {
  return flow<"Run", Message>().step<"a_1">(classify).step<"A_2">(classify).step<"Run">(classify);
}

// Arguments in any order, the handler last.
[[maybe_unused]] auto arguments() {
  return base().step<"x">(
      {.max_attempts = 2},
      when_exhausted(skip_cascade),
      run_if(output<"classify">(&Classified::route) == Route::help),
      when_unmet(fail),
      depends_on<"classify">,
      deliver
  );
}

// Inputs, skippable dependencies, the struct form with a member left out.
struct Partial {
  std::optional<Classified> maybe;
};
[[maybe_unused]] auto inputs() {
  return base()
      .step<"maybe">(run_if(input(&Message::text) == "x"), classify)
      .step<"positional">(depends_on<"maybe">, [](const std::optional<Classified>&) { return 1; })
      .step<"members">(depends_on<"classify", "maybe">, [](const Partial&) { return 1; })
      .step<"named">(depends_on<"classify">, [](const auto& in) {
        return in["classify"_step].confidence;
      });
}

// Maps and arrays.
[[maybe_unused]] auto maps() {
  return flow<"maps", std::vector<int>>().map<"root">([](int n) { return n; }
  ).array<"list">(depends_on<"root">, [](const std::vector<int>& all) {
     return all;
   }).map<"each">(over<"list">, [](const int& n, Context&) { return std::to_string(n); });
}

// Conditions.
[[maybe_unused]] auto conditions() {
  return base()
      .step<"root">(
          run_if(
              input(&Message::user, &Inner::role) == "admin" && input(&Message::tags).contains("a")
          ),
          classify
      )
      .step<"child">(
          depends_on<"classify", "root">,
          run_if_not(
              output<"root">().present() && output<"classify">(&Classified::confidence) == 1
          ),
          [] { return 1; }
      );
}

// Resources, the flow's input, both kinds of worker start.
[[maybe_unused]] int starts() {
  const auto f = base().step<"x">(
      depends_on<"classify">,
      [](const Classified&, FlowInput<Message>, Slack&, const Redis&, std::stop_token, Logger&) {
        return 1;
      }
  );
  Slack slack;
  const Redis redis;
  const auto queued = with_step_queues(f);
  return EdgeWorker::start(f, {.max_concurrent = 10}, resource(slack), resource(redis)) +
         EdgeWorker::start(queued, step<"x">, {}, resource(slack), resource(redis)) +
         EdgeWorker::start(
             queued,
             std::string("x"),
             {},
             each_thread<Slack>([] { return Slack{}; }),
             resource(redis)
         );
}

// A worker provides the database by itself; a test lends a fake.
struct FakeSql : Sql {
  std::vector<std::string> fetch(std::string_view, const std::vector<std::optional<std::string>>&)
      override {
    return {};
  }
  long change(std::string_view, const std::vector<std::optional<std::string>>&) override {
    return 0;
  }
};
[[maybe_unused]] int platforms() {
  const auto f = base().step<"x">([](const Message&, Sql& sql) { return sql.query<int>("…"); });
  static_assert(CompatibleFlow<decltype(f), ProcessPlatform>);
  static_assert(!CompatibleFlow<decltype(f), InProcessPlatform>);
  static_assert(CompatibleFlow<decltype(f), InProcessPlatform, Sql>);
  FakeSql sql;
  return testing::run(f, Message{}, resource<Sql>(sql)).completed() ? EdgeWorker::start(f) : 1;
}

// The longest queue names that fit.
[[maybe_unused]] auto routes() {
  return with_step_queues(
      flow<"ffffffffffffffffffffffffffffffffffffffffffff", Message>().step<"s">(classify)
  );
}

}  // namespace
