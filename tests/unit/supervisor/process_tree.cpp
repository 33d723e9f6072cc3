#include "supervisor/process_tree.hpp"

#include <unistd.h>

#include <algorithm>
#include <vector>

#include "supervisor/sweeper.hpp"
#include "support/catch.hpp"
#include "support/eventually.hpp"
#include "support/process.hpp"

using namespace pgflow;
using namespace pgflow::supervisor;
using namespace std::chrono_literals;

TEST_CASE(
    "a grandchild in a session of its own is found by its worker's id", "[supervisor][proc]"
) {
  const WorkerId worker = WorkerId::random();
  const WorkerId other = WorkerId::random();
  test::Process daemon(
      {.arguments = {"/usr/bin/setsid", "--fork", "/bin/sleep", "300"},
       .environment = {{"PGFLOW_WORKER_ID", worker.text()}}}
  );
  test::Process bystander(
      {.arguments = {"/bin/sleep", "300"}, .environment = {{"PGFLOW_WORKER_ID", other.text()}}}
  );
  REQUIRE(daemon.wait(5s) == 0);
  // One look for several: each counts its own.
  const Remains dead[] = {{0, WorkerId::random()}, {0, worker}};
  test::eventually("the daemon is found and killed", 5s, [&] {
    return kill_leftovers(dead) == std::vector<int>{0, 1};
  });
  test::eventually("nothing is left", 5s, [&] {
    return kill_leftovers(dead) == std::vector<int>{0, 0};
  });
  CHECK(bystander.running());
}

TEST_CASE("a process is killed only with the start time it was known by", "[supervisor][proc]") {
  test::Process sleeper({.arguments = {"/bin/sleep", "300"}});
  const auto started = process_start_time(sleeper.pid());
  REQUIRE(started != 0);
  kill_exactly(sleeper.pid(), started + 1);
  CHECK(sleeper.running());
  kill_exactly(sleeper.pid(), started);
  CHECK(sleeper.wait(5s) == 128 + 9);
}

TEST_CASE("processes that end while they are looked at do no harm", "[supervisor][proc]") {
  const Remains dead[] = {{0, WorkerId::random()}};
  for (int round = 0; round < 20; ++round) {
    test::Process crowd(
        {.arguments = {"/bin/sh", "-c", "for i in 1 2 3 4 5 6 7 8; do /bin/true & done; wait"}}
    );
    while (crowd.running()) CHECK(kill_leftovers(dead) == std::vector<int>{0});
  }
}

TEST_CASE("a pid that is nobody's has no start time", "[supervisor][proc]") {
  CHECK(process_start_time(0) == 0);
  CHECK(process_start_time(-1) == 0);
}

TEST_CASE("what died together is swept together, and each is told of once", "[supervisor][proc]") {
  uv::Loop loop;
  Sweeper sweeper(loop);
  const WorkerId worker = WorkerId::random();
  test::Process leftover(
      {.arguments = {"/bin/sleep", "300"}, .environment = {{"PGFLOW_WORKER_ID", worker.text()}}}
  );
  std::vector<int> told;
  for (int i = 0; i < 3; ++i) {
    sweeper.sweep({0, i == 1 ? worker : WorkerId::random()}, [&told, &sweeper, i] {
      told.push_back(i);
      // Whoever is told may tell of another death.
      if (i == 0) sweeper.sweep({0, WorkerId::random()}, [&told] { told.push_back(3); });
    });
  }
  CHECK(told.empty());
  loop.run();
  CHECK(process_start_time(leftover.pid()) == 0);
  std::ranges::sort(told);
  CHECK(told == std::vector<int>{0, 1, 2, 3});
}
