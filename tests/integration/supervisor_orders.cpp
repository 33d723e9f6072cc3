// What operators order of a running supervisor, through pgflow's verbs: scale, pause, restart; what
// pools do by themselves: recycle, break; what the database orders: fences.
#include <algorithm>

#include "integration/supervisor_rig.hpp"

using namespace pgflow;
using namespace pgflow::test;

namespace {

struct Answer {
  int exit_code = -1;
  std::string out, err;
};

// `pgflow ARGUMENTS… -c CONFIG`
Answer order(const Rig& rig, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), PGFLOW_BIN_DIR "/pgflow");
  arguments.insert(arguments.end(), {"-c", rig.config()});
  Process process({arguments, {{"DATABASE_URL", rig.database.url()}}});
  const auto code = process.wait(60s);
  REQUIRE(code.has_value());
  return {*code, process.out(), process.err()};
}

void obeyed(const Rig& rig, std::vector<std::string> arguments) {
  const Answer answer = order(rig, std::move(arguments));
  INFO(answer.err);
  REQUIRE(answer.exit_code == 0);
}

std::vector<int> living(const Rig& rig, const std::string& step) {
  std::vector<int> pids;
  for (const auto& worker : rig.started(step)) {
    if (alive(worker.pid)) pids.push_back(worker.pid);
  }
  return pids;
}

void wait_living(const Rig& rig, const std::string& step, std::size_t count) {
  eventually(std::to_string(count) + " of " + step, kSoon, [&] {
    return living(rig, step).size() == count;
  });
}

// The fewest and the most workers of pool a that were ready at once, from the moment when
// `at_least` were for the first time, by the supervisor's own log.
std::pair<int, int> ready_at_once(const std::string& log, int at_least) {
  std::istringstream lines(log);
  int ready = 0, fewest = 1000, most = 0;
  bool counts = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("slot=fake/a#") == std::string::npos) continue;
    if (line.find("event=worker.ready") != std::string::npos) ++ready;
    if (line.find("event=slot.state") != std::string::npos &&
        line.find("from=ready") != std::string::npos)
      --ready;
    counts = counts || ready >= at_least;
    most = std::max(most, ready);
    if (counts) fewest = std::min(fewest, ready);
  }
  return {fewest, most};
}

Plan two_of_a() {
  return {.steps = R"("a": {"processes": 2, "max_concurrent": 4}, "b": {})"};
}

}  // namespace

// --- scale

TEST_CASE(
    "scale starts and ends workers of its pool, and touches no other", "[supervisor][scale]"
) {
  Rig rig;
  rig.start();
  rig.wait_ready();
  const int first = rig.started("a")[0].pid;
  const int other = rig.started("b")[0].pid;
  obeyed(rig, {"scale", "fake/a=3", "--wait"});
  CHECK(rig.started("a").size() == 3);
  CHECK(alive(first));
  obeyed(rig, {"scale", "a=1", "--wait"});
  wait_living(rig, "a", 1);
  // The young ones leave.
  CHECK(alive(first));
  obeyed(rig, {"scale", "a=0", "--wait"});
  wait_living(rig, "a", 0);
  obeyed(rig, {"scale", "a", "--reset", "--wait"});
  wait_living(rig, "a", 1);
  CHECK(living(rig, "b") == std::vector{other});
  CHECK(rig.times_said("worker.killed") == 0);
}

TEST_CASE("concurrency changes in place", "[supervisor][scale]") {
  Rig rig(two_of_a());
  rig.start();
  rig.wait_ready(3);
  obeyed(rig, {"scale", "a=x7"});
  eventually("both are told", kSoon, [&] {
    return read_file(rig.path("ledger.limits")).find("a 7\na 7\n") != std::string::npos;
  });
  CHECK(rig.started("a").size() == 2);
}

TEST_CASE("many scales in a row end where the last one says", "[supervisor][scale]") {
  Rig rig({.supervisor = R"("kill_margin": "1s", "max_spawns_per_second": 100)"});
  rig.start();
  rig.wait_ready();
  for (const char* count : {"8", "1", "8", "0", "4"}) {
    obeyed(rig, {"scale", std::string("a=") + count});
  }
  obeyed(rig, {"scale", "a=4", "--wait"});
  wait_living(rig, "a", 4);
  CHECK(rig.times_said("worker.killed") == 0);
}

TEST_CASE("a scale outlives the supervisor, and ends with its time", "[supervisor][scale]") {
  Rig rig;
  rig.start();
  rig.wait_ready();
  obeyed(rig, {"scale", "a=2", "--ttl", "15s", "--wait"});
  rig.supervisor().signal(SIGKILL);
  CHECK(rig.supervisor().wait(kSoon) == 128 + SIGKILL);
  wait_living(rig, "a", 0);
  rig.start();
  wait_living(rig, "a", 2);
  eventually("the override is over", 30s, [&] { return rig.said("override.ended"); });
  wait_living(rig, "a", 1);
}

TEST_CASE("more workers than the database was promised are refused", "[supervisor][scale]") {
  Rig rig;
  std::string config = read_file(rig.config());
  config.insert(config.find("\"flows\""), "\"database\": {\"max_connections\": 9},\n");
  std::ofstream(rig.config()) << config;
  rig.start();
  rig.wait_ready();
  obeyed(rig, {"scale", "a=2", "--wait"});
  const Answer refused = order(rig, {"scale", "a=3"});
  CHECK(refused.exit_code == 1);
  CHECK(refused.err.find("4 processes need 11 connections") != std::string::npos);
  CHECK(refused.err.find("hint: ") != std::string::npos);
  CHECK(living(rig, "a").size() == 2);
}

TEST_CASE("a scale that makes no sense is a wrong command line", "[supervisor][scale]") {
  Rig rig;
  rig.start();
  rig.wait_ready();
  const auto wrong = GENERATE(
      std::vector<std::string>{"a=-1"},
      std::vector<std::string>{"a=1001"},
      std::vector<std::string>{"a=1x0"},
      std::vector<std::string>{"a="},
      std::vector<std::string>{"=3"},
      std::vector<std::string>{"a"},
      std::vector<std::string>{"a=1", "fake/a=2"},
      std::vector<std::string>{"a=1", "--reset"}
  );
  std::vector<std::string> arguments{"scale"};
  arguments.insert(arguments.end(), wrong.begin(), wrong.end());
  const Answer answer = order(rig, arguments);
  CAPTURE(wrong, answer.err);
  CHECK(answer.exit_code == 64);
  CHECK(answer.err.find("hint: ") != std::string::npos);
  CHECK(rig.started("a").size() == 1);
}

// --- pause

TEST_CASE("a paused pool stays paused until somebody resumes it", "[supervisor][pause]") {
  Rig rig;
  rig.start();
  rig.wait_ready();
  obeyed(rig, {"pause", "a", "--reason", "Slack is down", "--wait"});
  wait_living(rig, "a", 0);
  CHECK(living(rig, "b").size() == 1);
  const auto before = rig.started("a").size();

  rig.supervisor().signal(SIGKILL);
  rig.supervisor().wait(kSoon);
  wait_living(rig, "b", 0);
  rig.start();
  wait_living(rig, "b", 1);
  CHECK(rig.started("a").size() == before);
  CHECK(order(rig, {"status"}).out.find("Slack is down") != std::string::npos);

  obeyed(rig, {"resume", "a", "--wait"});
  wait_living(rig, "a", 1);
}

TEST_CASE("TSTP pauses everything, TTIN tells everything", "[supervisor][pause]") {
  Rig rig;
  rig.start();
  rig.wait_ready();
  rig.supervisor().signal(SIGTTIN);
  eventually("all is told", kSoon, [&] {
    return rig.said("status.supervisor") && rig.times_said("status.slot") == 2;
  });
  rig.supervisor().signal(SIGUSR1);
  rig.supervisor().signal(SIGUSR2);
  rig.supervisor().signal(SIGTSTP);
  wait_living(rig, "a", 0);
  wait_living(rig, "b", 0);
  CHECK(rig.supervisor().running());
}

TEST_CASE("an order that cannot be kept is refused", "[supervisor][pause]") {
  Rig rig;
  rig.start();
  rig.wait_ready();
  std::filesystem::create_symlink("/dev/full", rig.path("state/overrides.json.new"));
  const Answer refused = order(rig, {"pause", "a"});
  CHECK(refused.exit_code != 0);
  CHECK(refused.err.find("No space left on device") != std::string::npos);
  CHECK(living(rig, "a").size() == 1);
}

// --- replacing workers

TEST_CASE("a restart replaces each worker, and the pool never lacks one", "[supervisor][restart]") {
  Rig rig(two_of_a());
  rig.start();
  rig.wait_ready(3);
  const auto before = living(rig, "a");
  obeyed(rig, {"restart", "a", "--wait"});
  for (const int pid : before) CHECK_FALSE(alive(pid));
  CHECK(rig.started("a").size() == 4);
  const auto [fewest, most] = ready_at_once(rig.supervisor().err(), 2);
  CHECK(fewest == 2);
  CHECK(most == 3);
  CHECK(rig.started("b").size() == 1);
}

TEST_CASE("a restart that meets a starting worker replaces it, too", "[supervisor][restart]") {
  Rig rig;
  rig.start();
  rig.wait_ready();
  obeyed(rig, {"pause", "a", "--wait"});
  obeyed(rig, {"resume", "a"});
  obeyed(rig, {"restart", "a", "--wait", "--timeout", "20s"});
  wait_living(rig, "a", 1);
}

TEST_CASE("an exclusive worker leaves before its successor comes", "[supervisor][restart]") {
  Rig rig({.steps = R"("a": {"processes": 1, "max_concurrent": 1}, "b": {})"});
  rig.start();
  rig.wait_ready();
  obeyed(rig, {"restart", "a", "--wait"});
  eventually("the second one is there", kSoon, [&] { return rig.started("a").size() == 2; });
  const auto [fewest, most] = ready_at_once(rig.supervisor().err(), 1);
  CHECK(fewest == 0);
  CHECK(most == 1);
  const std::string log = rig.supervisor().err();
  CHECK(log.find("event=worker.exited") < log.rfind("event=worker.spawned"));
}

TEST_CASE("without connections to spare a worker leaves first, too", "[supervisor][restart]") {
  Rig rig;
  std::string config = read_file(rig.config());
  config.insert(config.find("\"flows\""), "\"database\": {\"max_connections\": 7},\n");
  std::ofstream(rig.config()) << config;
  rig.start();
  rig.wait_ready();
  obeyed(rig, {"restart", "a", "--wait"});
  wait_living(rig, "a", 1);
  CHECK(ready_at_once(rig.supervisor().err(), 1).second == 1);
}

TEST_CASE("old workers are recycled one at a time", "[supervisor][recycle]") {
  Plan plan = two_of_a();
  plan.defaults = R"("recycle": {"max_age": "1s"})";
  Rig rig(plan);
  rig.start();
  rig.wait_start("a", 6);
  const auto [fewest, most] = ready_at_once(rig.supervisor().err(), 2);
  CHECK(fewest == 2);
  CHECK(most == 3);
}

TEST_CASE("a worker above max_rss is replaced, one above hard_memory is killed", "[supervisor]") {
  Rig rig({.fake = "fat:100"});
  SECTION("max_rss") {
    rig.change_defaults(R"("recycle": {"max_rss": "99MiB"})");
    rig.start();
    rig.wait_start("a", 3);
    CHECK(rig.said("why=max_rss"));
    CHECK(rig.times_said("worker.killed") == 0);
  }
  SECTION("hard_memory") {
    rig.change_defaults(R"("limits": {"hard_memory": "99MiB"}, "restart": {"max": "250ms"})");
    rig.start();
    rig.wait_start("a", 2);
    CHECK(rig.said("reason=oom"));
  }
  CHECK(rig.started("b").size() == 1);
}

// --- the breaker

TEST_CASE("a pool that only crashes tries one worker at a time", "[supervisor][budget]") {
  Rig rig({.fake = "exit:7", .steps = R"("a": {"processes": 4}, "b": {})"});
  rig.change_defaults(
      R"("restart": {"base": "1ms", "max": "5ms", "budget": {"crashes": 8, "per": "60s"}, )"
      R"("probe_every": "1s"})"
  );
  rig.start();
  eventually("the budget is used up", kSoon, [&] { return rig.said("pool.crashlooping"); });
  eventually("those under way are gone", kSoon, [&] { return living(rig, "a").empty(); });
  const auto before = rig.started("a").size();
  const auto began = std::chrono::steady_clock::now();
  rig.wait_start("a", before + 3);
  // The first probe is due within a second, the others a second apart.
  CHECK(std::chrono::steady_clock::now() - began > 1900ms);
  CHECK(order(rig, {"status"}).out.find("crashlooping") != std::string::npos);
  CHECK(rig.started("b").size() == 1);
  CHECK(rig.times_said("pool.crashlooping") == 1);
}

TEST_CASE("a pool that failed for good tries again when it is told to", "[supervisor][budget]") {
  Rig rig({.fake = "exit:78"});
  rig.start();
  eventually("it has failed", kSoon, [&] { return rig.said("pool.failed"); });
  const auto before = rig.started("a").size();
  obeyed(rig, {"restart", "a"});
  rig.wait_start("a", before + 1);
}

// --- fences

TEST_CASE(
    "a fence empties its pool, is acknowledged, and outlives everybody", "[supervisor][fence]"
) {
  Rig rig;
  rig.start();
  rig.wait_ready();
  obeyed(rig, {"fence", "fake/a", "--reason", "deployment of r42", "--wait", "--timeout", "20s"});
  wait_living(rig, "a", 0);
  CHECK(rig.database.value("select count(*) from pgflow.fence_acks") == "1");
  CHECK(living(rig, "b").size() == 1);
  CHECK(order(rig, {"status"}).out.find("deployment of r42") != std::string::npos);

  rig.supervisor().signal(SIGKILL);
  rig.supervisor().wait(kSoon);
  wait_living(rig, "b", 0);
  const auto before = rig.started("a").size();
  rig.start();
  wait_living(rig, "b", 1);
  obeyed(rig, {"restart", "a"});
  obeyed(rig, {"scale", "a=2"});
  eventually("the new supervisor has acknowledged", kSoon, [&] {
    return rig.database.value("select count(*) from pgflow.fence_acks") == "2";
  });
  CHECK(rig.started("a").size() == before);

  CHECK(order(rig, {"unfence", "fake/a"}).exit_code != 0);
  CHECK(rig.started("a").size() == before);
  obeyed(rig, {"unfence", "fake/a", "--force", "--reason", "the token is lost"});
  wait_living(rig, "a", 2);
}
