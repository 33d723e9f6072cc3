// store/wake_listener: what is heard of a start, and what a deaf connection says.
#include "store/wake_listener.hpp"

#include <functional>
#include <utility>
#include <vector>

#include "session.hpp"

using namespace pgflow;
using namespace pgflow::test;

namespace {

struct Listening : Session {
  Listening() : Session("pgflow_template") {
    database.rows(
        "select pgflow.create_flow('pair');"
        "select pgflow.add_step('pair', 'now');"
        "select pgflow.add_step('pair', 'after', array['now'])"
    );
    listener.listen();
    run_until("it hears itself", [&] { return listener.hears(); });
  }

  // Everything heard up to a notification sent last.
  std::vector<std::string> heard_so_far() {
    database.value("select pg_notify('pgflow_wake', 'the end')");
    run_until("the end", [&] { return !heard.empty() && heard.back() == "the end"; });
    heard.pop_back();
    return std::exchange(heard, {});
  }

  void run_until(const std::string& what, const std::function<bool()>& fact) {
    const auto deadline = std::chrono::steady_clock::now() + 10s;
    while (!fact()) {
      INFO(what);
      REQUIRE(std::chrono::steady_clock::now() < deadline);
      loop.poll();
    }
  }

  std::vector<std::string> heard;
  store::WakeListener listener{loop, connection, [this](std::string_view queue) {
                                 heard.emplace_back(queue);
                               }};
};

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("a start wakes the queue of what can begin", "[store][wake]") {
  Listening s;
  s.database.value("select count(*) from pgflow.start_flow('pair', '{}')");
  CHECK(s.heard_so_far() == Names{"pair"});
}

TEST_CASE("many starts of one transaction are one wake-up", "[store][wake]") {
  Listening s;
  s.database.value(
      "select count(*) from generate_series(1, 20), lateral pgflow.start_flow('pair', '{}')"
  );
  CHECK(s.heard_so_far() == Names{"pair"});
}

TEST_CASE("a step that a condition keeps from starting wakes nobody", "[store][wake]") {
  Listening s;
  s.database.rows(
      "select pgflow.ensure_flow_compiled('fork', '{\"steps\": ["
      "{\"slug\": \"yes\"}, {\"slug\": \"no\", \"requiredInputPattern\": "
      "{\"defined\": true, \"value\": {\"x\": 1}}}]}', 'step')"
  );
  s.database.value("select count(*) from pgflow.start_flow('fork', '{}')");
  CHECK(s.heard_so_far() == Names{"fork__yes"});
}

TEST_CASE("what starts later wakes nobody now", "[store][wake]") {
  Listening s;
  s.database.rows(
      "select pgflow.create_flow('late');"
      "select pgflow.add_step('late', 'later', start_delay => 60)"
  );
  s.database.value("select count(*) from pgflow.start_flow('late', '{}')");
  CHECK(s.heard_so_far().empty());
}

TEST_CASE("wake-ups can be switched off", "[store][wake]") {
  Listening s;
  s.database.rows(
      "do $$ begin execute format('alter database %I set pgflow.wake = off', current_database()); "
      "end $$"
  );
  s.database.value("select count(*) from pgflow.start_flow('pair', '{}')");
  CHECK(s.heard_so_far().empty());
}
