// What the world does to a supervisor and its workers: frozen, starved of descriptors, doubled,
// spoken to wrongly.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>

#include "base/unique_fd.hpp"
#include "integration/supervisor_rig.hpp"
#include "support/process_limit.hpp"

using namespace pgflow;
using namespace pgflow::test;

namespace {

std::size_t count_living(const Rig& rig) {
  const auto all = rig.started();
  return static_cast<std::size_t>(std::ranges::count_if(all, [](const Started& worker) {
    return alive(worker.pid);
  }));
}

}  // namespace

TEST_CASE("a supervisor that stood still blames nobody", "[supervisor][faults]") {
  Rig rig({.defaults = R"("watchdog": "2s")"});
  rig.start();
  rig.wait_ready();
  rig.supervisor().signal(SIGSTOP);
  // Longer than the watchdog; their heartbeats say how long.
  const std::string frozen_at = rig.database.value("select clock_timestamp()");
  eventually("time passes", kSoon, [&] {
    return rig.database.value(
               "select clock_timestamp() > '" + frozen_at + "'::timestamptz + interval '5 s'"
           ) == "t";
  });
  rig.supervisor().signal(SIGCONT);
  rig.supervisor().signal(SIGTTIN);
  eventually("it is back", kSoon, [&] { return rig.said("status.supervisor"); });
  CHECK(rig.times_said("worker.killed") == 0);
  CHECK(rig.started().size() == 2);
  CHECK(count_living(rig) == 2);
}

TEST_CASE("two supervisors with folders of their own share a flow", "[supervisor][faults]") {
  Rig rig;
  rig.start();
  rig.wait_ready();
  TemporaryFolder folder;
  std::string config = read_file(rig.config());
  const std::string state = R"("state_dir": "state")";
  config.replace(config.find(state), state.size(), R"("state_dir": ")" + folder.path() + "\"");
  std::ofstream(rig.path("other.json")) << config;
  Process other(
      {.arguments = {PGFLOW_BIN_DIR "/pgflow", "up", "-c", rig.path("other.json")},
       .environment = {{"DATABASE_URL", rig.database.url()}, {"FAKE_LEDGER", rig.path("ledger")}}}
  );
  eventually("all four are there", kSoon, [&] { return rig.running_workers() == "4"; });
  CHECK(
      rig.database.value("select count(*) from pgflow.supervisors where stopped_at is null") == "2"
  );
  other.signal(SIGTERM);
  CHECK(other.wait(kSoon) == 0);
  CHECK(rig.running_workers() == "2");
  CHECK(
      rig.database.value("select count(*) from pgflow.supervisors where stopped_at is null") == "1"
  );
  CHECK(rig.times_said("worker.exited") == 0);
}

TEST_CASE("a stop in the middle of a start storm leaves nothing behind", "[supervisor][faults]") {
  Rig rig(
      {.supervisor = R"("kill_margin": "1s", "max_parallel_starts": 2)",
       .steps = R"("a": {"processes": 30}, "b": {})"}
  );
  rig.start();
  rig.wait_start("a", 5);
  for (int i = 0; i < 10; ++i) rig.supervisor().signal(SIGTERM);
  CHECK(rig.supervisor().wait(kSoon) == 0);
  CHECK(rig.started("a").size() < 30);
  rig.check_nothing_left();
}

TEST_CASE("a supervisor out of descriptors keeps what it has", "[supervisor][faults]") {
  Rig rig(
      {.supervisor = R"("kill_margin": "1s", "max_parallel_starts": 4)",
       .defaults = R"("restart": {"base": "50ms", "max": "200ms"})",
       .steps = R"("a": {"processes": 25}, "b": {})"}
  );
  rig.start_with({"/usr/bin/prlimit", "--nofile=40"});
  eventually("it has reached its limit", kSoon, [&] { return rig.said("worker.not_started"); });
  const auto living = count_living(rig);
  CHECK(living >= 4);
  eventually("it goes on trying", kSoon, [&] { return rig.times_said("worker.not_started") > 20; });
  CHECK(count_living(rig) >= living);
  CHECK(rig.times_said("worker.exited") == 0);
  rig.supervisor().signal(SIGTERM);
  CHECK(rig.supervisor().wait(kSoon) == 0);
  rig.check_nothing_left();
}

TEST_CASE("a worker that breaks the contract costs only itself", "[supervisor][faults]") {
  const auto fake = GENERATE("garbage", "hello_twice", "stranger", "too_long");
  CAPTURE(fake);
  Rig rig({.fake = fake});
  rig.start();
  rig.wait_start("a", 3);
  CHECK(rig.said("reason=contract_broken"));
  CHECK(rig.started("b").size() == 1);
  CHECK(rig.supervisor().running());
}

TEST_CASE("a program that vanished is started again when it is back", "[supervisor][faults]") {
  const TemporaryFolder folder;
  const std::string program = folder.path() + "/worker";
  std::filesystem::copy(PGFLOW_BIN_DIR "/fake_worker", program);
  Rig rig({.program = program});
  rig.start();
  rig.wait_ready();
  std::filesystem::rename(program, program + ".gone");
  kill(rig.started("a")[0].pid, SIGKILL);
  eventually("it cannot be started", kSoon, [&] { return rig.times_said("slot.restart") >= 3; });
  CHECK(rig.started("a").size() == 1);
  CHECK(alive(rig.started("b")[0].pid));
  std::filesystem::rename(program + ".gone", program);
  rig.wait_start("a", 2);
}

TEST_CASE(
    "a supervisor that may make no process tries again, and keeps what it has", "[supervisor]"
) {
  Rig rig;
  give_to_limited_user(rig.folder());
  rig.start_with(as_limited_user());
  rig.wait_ready();
  const auto before = rig.started("a").at(0);
  limit_processes(rig.supervisor().pid(), true);
  kill(before.pid, SIGKILL);
  eventually("it was tried several times", kSoon, [&] {
    return rig.times_said("worker.not_started") >= 3;
  });
  INFO(rig.supervisor().err());
  CHECK(rig.said("resource temporarily unavailable"));
  std::filesystem::remove(rig.path("state/control.sock"));
  eventually("the socket, too, cannot be made", kSoon, [&] {
    return rig.said("control.socket_lost");
  });
  CHECK(rig.started("a").size() == 1);
  CHECK(alive(rig.started("b").at(0).pid));
  limit_processes(rig.supervisor().pid(), false);
  rig.wait_start("a", 2);
  eventually("the socket is back", kSoon, [&] {
    return std::filesystem::exists(rig.path("state/control.sock"));
  });
  rig.supervisor().signal(SIGTERM);
  CHECK(rig.supervisor().wait(kSoon) == 0);
  rig.check_nothing_left();
}

TEST_CASE("a state folder that was moved away is missed, and found again", "[supervisor][faults]") {
  Rig rig;
  rig.start();
  rig.wait_ready();
  std::filesystem::rename(rig.path("state"), rig.path("moved"));
  eventually("it says so", kSoon, [&] { return rig.said("state_dir.lost"); });
  eventually("of the socket, too", kSoon, [&] { return rig.said("control.socket_lost"); });
  const auto before = rig.started("a").at(0);
  kill(before.pid, SIGKILL);
  eventually("nothing is started without locks", kSoon, [&] {
    return rig.times_said("worker.not_started") >= 3;
  });
  CHECK_FALSE(std::filesystem::exists(rig.path("state")));
  CHECK(rig.started("a").size() == 1);
  CHECK(alive(rig.started("b").at(0).pid));
  std::filesystem::rename(rig.path("moved"), rig.path("state"));
  rig.wait_start("a", 2);
  CHECK(rig.times_said("state_dir.lost") == 1);
  rig.supervisor().signal(SIGTERM);
  CHECK(rig.supervisor().wait(kSoon) == 0);
  rig.check_nothing_left();
}

TEST_CASE("a worker is started though its slot's file cannot be written", "[supervisor][faults]") {
  Rig rig;
  // A file that never grows is one on a disk without room.
  const UniqueFd memory(memfd_create("slot", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  REQUIRE(fcntl(memory.get(), F_ADD_SEALS, F_SEAL_GROW) == 0);
  std::filesystem::create_directories(rig.path("state/slots"));
  std::filesystem::create_symlink(
      "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(memory.get()),
      rig.path("state/slots/fake.a.1.lock")
  );
  rig.start();
  rig.wait_ready();
  CHECK(rig.said("slot.owner_not_written"));
  kill(rig.started("a").at(0).pid, SIGKILL);
  rig.wait_start("a", 2);
}

TEST_CASE(
    "a supervisor on another's socket ends with 73, as on its folder", "[supervisor][faults]"
) {
  Rig rig({.supervisor = R"("control": {"socket": "control.sock"})"});
  rig.start();
  rig.wait_ready();
  std::string config = read_file(rig.config());
  const std::string state = R"("state_dir": "state")";
  config.replace(config.find(state), state.size(), R"("state_dir": "other")");
  std::ofstream(rig.path("other.json")) << config;
  Process second(
      {.arguments = {PGFLOW_BIN_DIR "/pgflow", "up", "-c", rig.path("other.json")},
       .environment = {{"DATABASE_URL", rig.database.url()}}}
  );
  CHECK(second.wait(kSoon) == 73);
  CHECK(second.err().find("Another supervisor answers at") != std::string::npos);
}

TEST_CASE("a supervisor that may not write its state folder ends with 71", "[supervisor][faults]") {
  Rig rig({.supervisor = R"("control": {"socket": "control.sock"})"});
  std::ofstream(rig.path("state")) << "no folder";
  CHECK(rig.start().wait(kSoon) == 71);
  std::filesystem::remove(rig.path("state"));
  std::filesystem::create_directories(rig.path("state"));
  std::filesystem::create_symlink("/dev/full", rig.path("state/releases.jsonl.new"));
  CHECK(rig.start().wait(kSoon) == 71);
}

TEST_CASE(
    "orders are refused while the state folder cannot be written to, and workers go on",
    "[supervisor][faults]"
) {
  Rig rig;
  give_to_limited_user(rig.folder());
  rig.start_with(as_limited_user());
  rig.wait_ready();
  const auto order = [&](int exit_code) {
    Process scale({.arguments = {PGFLOW_BIN_DIR "/pgflow", "scale", "a=2", "-c", rig.config()}});
    CHECK(scale.wait(kSoon) == exit_code);
    return scale.err();
  };
  REQUIRE(chmod(rig.path("state").c_str(), 0555) == 0);
  const std::string refusal = order(71);
  CHECK(refusal.find("detail: Permission denied") != std::string::npos);
  CHECK(refusal.find("hint: ") != std::string::npos);
  CHECK(count_living(rig) == 2);
  REQUIRE(chmod(rig.path("state").c_str(), 0755) == 0);
  order(0);
  rig.wait_start("a", 2);
}
