// SIGKILL of a worker with k tasks in flight, again and again: nothing lost, nothing done twice,
// nobody blamed.
#include <algorithm>
#include <iostream>

#include "e2e/supervised.hpp"

using namespace pgflow::test;

TEST_CASE("a killed worker's tasks come back at once and unblamed, 50 times", "[e2e]") {
  const Supervised flow(4);
  const auto& database = flow.database();
  std::vector<double> claimable_ms;

  for (int round = 0; round < 50; ++round) {
    CAPTURE(round, flow.log());
    const int k = round % 4 + 1;
    const std::string prefix = "round" + std::to_string(round) + "_";
    const std::string gate = "gate" + std::to_string(round);
    for (int i = 0; i < k; ++i) {
      flow.start(
          R"({"key": ")" + prefix + std::to_string(i) +
          R"(", "route": "other", "classify_gate": ")" + gate + R"("})"
      );
    }
    eventually("k handlers run", 20s, [&] {
      return flow.noted("start", "classify", prefix).size() == static_cast<std::size_t>(k);
    });
    const pid_t victim =
        flow.ledger().back().pid;  // one classify process, and only it was started last
    REQUIRE(victim > 0);
    const std::string worker = database.value(
        "select worker_id from pgflow.workers where pid = " + std::to_string(victim) +
        " and stopped_at is null"
    );
    REQUIRE(worker != "<none>");
    const std::string killed_at = database.value("select clock_timestamp()");
    REQUIRE(kill(victim, SIGKILL) == 0);

    eventually("the dead worker's tasks are given back", 20s, [&] {
      return database.value(
                 "select stopped_at is not null from pgflow.workers where worker_id = '" + worker +
                 "'"
             ) == "t";
    });
    claimable_ms.push_back(std::stod(database.value(
        "select extract(epoch from stopped_at - '" + killed_at +
        "') * 1000 from pgflow.workers where worker_id = '" + worker + "'"
    )));
    CHECK(
        database.value(
            "select count(*) from pgflow.step_tasks where status = 'started' and last_worker_id = "
            "'" +
            worker + "'"
        ) == "0"
    );

    eventually("the next worker starts each of them", 20s, [&] {
      const auto starts = flow.noted("start", "classify", prefix);
      return std::all_of(starts.begin(), starts.end(), [](const auto& key) {
        return key.second == 2;
      });
    });
    flow.open(gate);
    eventually("all runs of the round are completed", 20s, [&] {
      return database.value(
                 "select count(*) from pgflow.runs where status = 'completed' and input ->> 'key' "
                 "like '" +
                 prefix + "%'"
             ) == std::to_string(k);
    });
    // Finished once, by the second start, at the cost of one attempt.
    for (const auto& [key, ends] : flow.noted("end", "classify", prefix)) {
      CHECK(ends == 1);
    }
    CHECK(
        database.value(
            "select count(*) from pgflow.step_tasks t join pgflow.runs r using (run_id)"
            " where t.step_slug = 'classify' and t.status = 'completed' and t.attempts_count = 1"
            " and t.requeued_count = 0 and t.crash_count = 0 and r.input ->> 'key' like '" +
            prefix + "%'"
        ) == std::to_string(k)
    );
  }
  CHECK(database.value("select count(*) from pgflow.runs where status <> 'completed'") == "0");
  CHECK(database.value("select count(*) from pgmq.q_communitythreadsv1__classify") == "0");

  std::sort(claimable_ms.begin(), claimable_ms.end());
  std::cout << "50 workers killed with 1 to 4 tasks in flight; claimable again after ms: median "
            << claimable_ms[claimable_ms.size() / 2] << ", longest " << claimable_ms.back() << "\n";
}
