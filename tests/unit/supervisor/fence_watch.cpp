// supervisor/fence_watch: what a supervisor hears of fences, and what it says about itself.
#include "supervisor/fence_watch.hpp"

#include <functional>

#include "../store/session.hpp"

using namespace pgflow;
using namespace pgflow::test;
using supervisor::FenceView;
using supervisor::FenceWatch;

namespace {

constexpr const char* kGeneration = "00000000-0000-4000-8000-00000000000a";

struct Watching : Session {
  Watching() : Session("pgflow_template") {
    ears.listen();
    watch.start(kGeneration, "here", {"f/a", "f/b"});
    run_until("the first answer", [&] { return watch.known(); });
  }

  // The id of a new fence.
  std::string fence(const std::string& functions) const {
    const std::string id = database.value("select gen_random_uuid()");
    database.value(
        "select count(*) from pgflow.fence_functions('" + id + "', 'secret', '" + functions +
        "', 'ops', 'a deployment')"
    );
    return id;
  }
  void unfence(const std::string& id) const {
    database.value("select count(*) from pgflow.unfence_functions('" + id + "', 'secret')");
  }
  std::string acked() const {
    return database.value(
        "select coalesce(string_agg(fence_id::text, ',' order by acked_at), '') "
        "from pgflow.fence_acks where generation = '" +
        std::string(kGeneration) + "'"
    );
  }

  void run_until(
      const std::string& what, const std::function<bool()>& fact, std::chrono::seconds limit = 10s
  ) {
    const auto deadline = std::chrono::steady_clock::now() + limit;
    while (!fact()) {
      INFO(what);
      REQUIRE(std::chrono::steady_clock::now() < deadline);
      loop.poll();
    }
  }

  std::vector<std::vector<FenceView>> told;
  store::WakeListener ears{loop, connection, [](std::string_view) {}};
  FenceWatch watch{loop, connection, ears, [this](const std::vector<FenceView>& standing) {
                     told.push_back(standing);
                   }};
};

}  // namespace

TEST_CASE("the first answer is told although no fence stands", "[fence]") {
  Watching s;
  REQUIRE(s.told.size() == 1);
  CHECK(s.told[0].empty());
  CHECK(s.watch.around("f/a") == nullptr);
  CHECK(
      s.database.rows("select name, function_names, stopped_at is null from pgflow.supervisors") ==
      std::vector<std::vector<std::string>>{{"here", "{f/a,f/b}", "t"}}
  );
}

TEST_CASE("a fence is heard of before the next beat, and so is its end", "[fence]") {
  Watching s;
  s.run_until("it hears notifications", [&] { return s.ears.hears(); });
  const auto begin = std::chrono::steady_clock::now();
  const std::string id = s.fence("{f/b,other}");
  s.run_until("the fence", [&] { return s.told.size() == 2; });
  REQUIRE(s.told[1].size() == 1);
  CHECK(s.told[1][0].fence_id == id);
  CHECK(s.told[1][0].function_names == std::vector<std::string>{"f/b", "other"});
  CHECK(s.told[1][0].owner == "ops");
  CHECK(s.told[1][0].reason == "a deployment");
  CHECK(s.watch.around("f/a") == nullptr);
  REQUIRE(s.watch.around("f/b") != nullptr);
  s.unfence(id);
  s.run_until("its end", [&] { return s.told.size() == 3; });
  CHECK(s.told[2].empty());
  CHECK(std::chrono::steady_clock::now() - begin < 2s);
}

TEST_CASE("without notifications the next beat tells", "[fence]") {
  Watching s;
  s.run_until("it hears notifications", [&] { return s.ears.hears(); });
  value_of(s.ask<pg::Rows>([&](auto done) { s.connection.query({"u", "unlisten *"}, {}, done); }));
  const std::string id = s.fence("{f/a}");
  s.run_until("the fence", [&] { return s.told.size() == 2; });
  CHECK(s.told[1][0].fence_id == id);
}

TEST_CASE("a fence is acknowledged when its owner says so, and each by itself", "[fence]") {
  Watching s;
  const std::string one = s.fence("{f/a}");
  const std::string two = s.fence("{f/a,f/b}");
  s.run_until("both fences", [&] { return s.watch.standing().size() == 2; });
  CHECK(s.acked().empty());
  s.watch.ack(two);
  s.watch.ack(two);
  s.run_until("its acknowledgement", [&] { return s.acked() == two; });
  s.watch.ack(one);
  s.run_until("the other one", [&] { return s.acked() == two + "," + one; });
}

TEST_CASE("an acknowledgement that the database lost is said again", "[fence]") {
  Watching s;
  const std::string id = s.fence("{f/a}");
  s.run_until("the fence", [&] { return s.watch.around("f/a") != nullptr; });
  s.watch.ack(id);
  s.run_until("its acknowledgement", [&] { return s.acked() == id; });
  s.database.rows("delete from pgflow.fence_acks");
  s.run_until("it comes again", [&] { return s.acked() == id; });
}

TEST_CASE(
    "an outage lifts no fence, and what was acknowledged meanwhile is said after it", "[fence]"
) {
  Watching s;
  const std::string id = s.fence("{f/a}");
  s.run_until("the fence", [&] { return s.watch.around("f/a") != nullptr; });
  bool lost = false;
  s.connection.on_lost([&](const Error&) { lost = true; });
  s.database.rows(
      "select pg_terminate_backend(" + std::to_string(s.connection.backend_pid()) + ")"
  );
  s.run_until("the outage", [&] { return lost; });
  s.watch.ack(id);
  s.watch.look();
  CHECK(s.watch.around("f/a") != nullptr);
  CHECK(s.acked().empty());
  value_of(s.ask<void>([&](auto done) { s.connection.connect(done); }));
  s.watch.look();
  s.run_until("its acknowledgement", [&] { return s.acked() == id; });
  CHECK(s.told.size() == 2);
}

TEST_CASE("a supervisor that stops is waited for by nobody", "[fence]") {
  Watching s;
  const std::string id = s.fence("{f/a}");
  const std::string pending = "select count(*) from pgflow.pending_fence_acks('" + id + "')";
  CHECK(s.database.value(pending) == "1");
  s.watch.stop();
  s.run_until("its end", [&] { return s.database.value(pending) == "0"; });
}

TEST_CASE("a worker's function is its WORKER_NAME, else its flow and step", "[fence]") {
  using supervisor::worker_function_name;
  settings::WorkerProgram program;
  CHECK(worker_function_name("f", "a", program) == "f/a");
  CHECK(worker_function_name("f", "", program) == "f");
  program.env = {{"WORKER_NAME", "own"}};
  CHECK(worker_function_name("f", "a", program) == "own");
}
