// What must never happen, however often: rounds of kills, drains, outages and races, with a random
// seed that is printed. CHAOS_ROUNDS and CHAOS_SEED set both, CHAOS_LOG names a file for the
// supervisor's log; `./dev test chaos` runs the long form.
#include <signal.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <thread>

#include "chaos/rig.hpp"

using namespace pgflow::test;

namespace {

// Of the last line that says this, in minutes of the day, by the wall clock that its writer saw.
int minute_of(const std::string& log, const std::string& said) {
  const auto at = log.rfind(said);
  REQUIRE(at != std::string::npos);
  const auto line = log.rfind('\n', at) + 1;
  int hours = 0, minutes = 0;
  REQUIRE(std::sscanf(log.c_str() + line, "%*d-%*d-%*dT%d:%d", &hours, &minutes) == 2);
  return hours * 60 + minutes;
}

}  // namespace

TEST_CASE("killed workers cost nobody anything", "[chaos]") {
  Rig rig;
  rig.start_supervisor();
  rig.wait_workers(3);
  const int before = count_descriptors(rig.supervisor().pid());
  SqlSession look(rig.database);
  std::vector<double> claimable;
  const int kills = rounds(25);
  for (int i = 0; i < kills; ++i) {
    rig.give_runs(6);
    std::this_thread::sleep_for(std::chrono::milliseconds(rig.random(60)));
    const Worker victim = rig.some_worker();
    const auto began = monotonic_now();
    rig.kill_worker(victim);
    eventually("its tasks are claimable", 10s, [&] {
      return look.value(
                 "select count(*) from pgflow.step_tasks where status = 'started' and "
                 "last_worker_id = '" +
                 victim.worker_id + "'"
             ) == "0" &&
             look.value(
                 "select stopped_at is not null from pgflow.workers where worker_id = '" +
                 victim.worker_id + "'"
             ) == "t";
    });
    claimable.push_back(static_cast<double>(monotonic_now() - began) / 1e6);
    rig.wait_workers(3);
  }
  rig.finish_and_judge(std::chrono::seconds(60));
  print_percentiles("SIGKILL to claimable", claimable);
  CHECK(count_descriptors(rig.supervisor().pid()) == before);
  rig.stop_and_look();
}

TEST_CASE("a kill while the settling statement runs in the server", "[chaos]") {
  Rig rig;
  rig.start_supervisor();
  rig.wait_workers(3);
  // 300 ms inside the transaction that completes tasks.
  rig.database.rows(
      "create function slow() returns trigger language plpgsql as $$ begin perform pg_sleep(0.3); "
      "return new; end $$; create trigger slow before update of status on pgflow.step_tasks for "
      "each statement when (pg_trigger_depth() = 0) execute function slow()"
  );
  const int kills = rounds(6);
  for (int i = 0; i < kills; ++i) {
    rig.give_runs(2);
    eventually("somebody settles", 20s, [&] {
      return rig.database.value(
                 "select count(*) from pg_stat_activity where datname = current_database() and "
                 "state = 'active' and query like '%complete_tasks%' and wait_event = 'PgSleep'"
             ) != "0";
    });
    rig.kill_worker(rig.some_worker());
    rig.wait_workers(3);
  }
  rig.finish_and_judge(std::chrono::seconds(120));
  rig.stop_and_look();
}

TEST_CASE("workers that are told to end from outside finish and are replaced", "[chaos]") {
  Rig rig;
  rig.start_supervisor();
  rig.wait_workers(3);
  const int drains = rounds(12);
  for (int i = 0; i < drains; ++i) {
    rig.give_runs(6);
    std::this_thread::sleep_for(std::chrono::milliseconds(rig.random(40)));
    const Worker worker = rig.some_worker();
    // Twice: only the supervisor escalates.
    kill(worker.pid, SIGTERM);
    kill(worker.pid, SIGTERM);
    eventually("it is gone", 20s, [&] { return !is_alive(worker.pid); });
    rig.wait_workers(3);
  }
  CHECK(rig.said("reason=external_term"));
  rig.finish_and_judge(std::chrono::seconds(60));
  rig.stop_and_look();
}

TEST_CASE("a killed supervisor's workers finish, and the next one takes over", "[chaos]") {
  Rig rig;
  const int kills = rounds(4);
  for (int i = 0; i < kills; ++i) {
    rig.start_supervisor();
    rig.wait_workers(3);
    rig.give_runs(6);
    std::this_thread::sleep_for(std::chrono::milliseconds(rig.random(150)));
    rig.kill_supervisor();
  }
  rig.start_supervisor();
  // Orphans may have finished everything: a stop in the start would clean up nothing.
  rig.wait_workers(3);
  rig.finish_and_judge(std::chrono::seconds(120));
  rig.stop_and_look();
}

TEST_CASE("a supervisor that dies with its workers leaves their tasks to the next", "[chaos]") {
  Rig rig;
  const int kills = rounds(3);
  for (int i = 0; i < kills; ++i) {
    rig.start_supervisor();
    rig.wait_workers(3);
    rig.give_runs(6);
    std::this_thread::sleep_for(std::chrono::milliseconds(rig.random(60)));
    const auto victims = rig.workers();
    rig.supervisor().signal(SIGSTOP);  // it must not see them die
    for (const Worker& victim : victims) rig.kill_worker(victim);
    rig.kill_supervisor();
  }
  rig.start_supervisor();
  // Orphans may have finished everything: a stop in the start would clean up nothing.
  rig.wait_workers(3);
  rig.finish_and_judge(std::chrono::seconds(60));
  rig.stop_and_look();
}

TEST_CASE("a database that dies around a kill loses nothing", "[chaos]") {
  const OwnServer server;
  Rig rig(server.address());
  rig.start_supervisor();
  rig.wait_workers(3);
  const int crashes = rounds(3);
  for (int i = 0; i < crashes; ++i) {
    rig.give_runs(6);
    const Worker victim = rig.some_worker();
    const int offset = rig.random(400) - 200;
    if (offset < 0) {
      rig.kill_worker(victim);
      std::this_thread::sleep_for(std::chrono::milliseconds(-offset));
      server.crash();
    } else {
      server.crash();
      std::this_thread::sleep_for(std::chrono::milliseconds(offset));
      rig.kill_worker(victim);
    }
    server.resume();
    eventually("its tasks are claimable", 20s, [&] {
      return rig.database.value(
                 "select stopped_at is not null from pgflow.workers where worker_id = '" +
                 victim.worker_id + "'"
             ) == "t";
    });
    rig.wait_workers(3);
  }
  rig.finish_and_judge(std::chrono::seconds(120));
  rig.stop_and_look();
}

TEST_CASE("a frozen worker is killed, and a thawed one has nothing to say", "[chaos]") {
  Rig rig;
  rig.start_supervisor();
  rig.wait_workers(3);
  const int freezes = rounds(2);
  for (int i = 0; i < freezes; ++i) {
    rig.give_runs(12);
    const Worker worker = rig.some_worker();
    kill(worker.pid, SIGSTOP);
    rig.note_death(worker.pid);
    eventually("it is killed", 20s, [&] { return !is_alive(worker.pid); });
    rig.wait_workers(3);
  }
  rig.finish_and_judge(std::chrono::seconds(60));
  rig.stop_and_look();
}

TEST_CASE("handlers that burn every core raise no alarm", "[chaos]") {
  Rig rig;
  rig.start_supervisor();
  rig.wait_workers(3);
  rig.give_burning_runs(8, rounds(4) * 1000);
  rig.finish_and_judge(std::chrono::seconds(30 + rounds(4)));
  CHECK_FALSE(rig.said("worker.killed"));
  CHECK_FALSE(rig.said("worker.exited"));
  rig.stop_and_look();
}

TEST_CASE("wall clocks that jump an hour kill nobody and lose nothing", "[chaos]") {
  Rig rig;
  const std::string clock = rig.path("clock");
  const auto set_clock = [&](const char* offset) { std::ofstream(clock) << offset; };
  set_clock("+0");
  rig.start_supervisor(
      {{"LD_PRELOAD", PGFLOW_FAKETIME},
       {"FAKETIME_TIMESTAMP_FILE", clock},
       {"FAKETIME_NO_CACHE", "1"},
       {"DONT_FAKE_MONOTONIC", "1"}}
  );
  rig.wait_workers(3);
  const int jumps = rounds(6);
  for (int i = 0; i < jumps; ++i) {
    rig.give_runs(10);
    set_clock(i % 2 == 0 ? "+1h" : "-1h");
    rig.finish_and_judge(std::chrono::seconds(30));
  }
  CHECK_FALSE(rig.said("worker.exited"));
  set_clock("+1h");
  rig.supervisor().signal(SIGTTIN);
  eventually("it tells all", 10s, [&] { return rig.said("status.supervisor"); });
  const std::string log = rig.supervisor().err();
  const int jumped = minute_of(log, "status.supervisor") - minute_of(log, "supervisor.starting");
  CHECK((jumped + 24 * 60) % (24 * 60) >= 60);
  rig.stop_and_look();
}

TEST_CASE("of two supervisors on one folder one wins, each time", "[chaos]") {
  Rig rig;
  std::vector<double> told;
  const int races = rounds(8);
  for (int i = 0; i < races; ++i) {
    const auto began = monotonic_now();
    rig.start_supervisor();
    const auto rival = rig.rival();
    std::optional<int> first, second;
    eventually("one gives up", 10s, [&] {
      first = rig.supervisor().wait(std::chrono::milliseconds(0));
      second = rival->wait(std::chrono::milliseconds(0));
      return first || second;
    });
    told.push_back(static_cast<double>(monotonic_now() - began) / 1e6);
    CHECK(first.value_or(73) == 73);
    CHECK(second.value_or(73) == 73);
    CHECK_FALSE((first && second));
    Process& winner = first ? *rival : rig.supervisor();
    rig.wait_workers(3);
    winner.signal(SIGTERM);
    CHECK(winner.wait(30s) == 0);
  }
  print_percentiles("the loser of a race ends", told);
}

TEST_CASE("whatever signals come, the supervisor ends with everything in order", "[chaos]") {
  constexpr int kSignals[] = {
      SIGTERM,
      SIGINT,
      SIGQUIT,
      SIGHUP,
      SIGUSR1,
      SIGUSR2,
      SIGTTIN,
      SIGTSTP,
      SIGPIPE,
      SIGWINCH,
      SIGCHLD
  };
  Rig rig;
  const int starts = rounds(12);
  for (int i = 0; i < starts; ++i) {
    rig.start_supervisor();
    // Before that it is a program that loads, and ends as programs do.
    eventually("it is there", 20s, [&] { return rig.said("supervisor.starting"); });
    if (i > 0) rig.give_runs(4);
    std::this_thread::sleep_for(std::chrono::milliseconds(rig.random(i == 0 ? 1 : 1'500)));
    for (int left = rig.random(10); left > 0; --left) {
      rig.supervisor().signal(kSignals[rig.random(std::size(kSignals))]);
      std::this_thread::sleep_for(std::chrono::milliseconds(rig.random(60)));
    }
    rig.supervisor().signal(SIGTERM);
    const auto code = rig.supervisor().wait(std::chrono::seconds(40));
    REQUIRE(code.has_value());
    CAPTURE(*code);
    CHECK((code == 0 || code == 1));
    CHECK(rig.workers().empty());
    rig.note_deaths();
    // What TSTP paused.
    std::filesystem::remove(rig.path("state/overrides.json"));
    // The first may have ended before it compiled the flow.
    if (i == 0) {
      rig.start_supervisor();
      rig.wait_workers(3);
      rig.stop_and_look();
    }
  }
  rig.start_supervisor();
  // Orphans may have finished everything: a stop in the start would clean up nothing.
  rig.wait_workers(3);
  rig.finish_and_judge(std::chrono::seconds(60));
  rig.stop_and_look();
}

TEST_CASE("operators, murderers and the work itself, all at once", "[chaos]") {
  Rig rig;
  rig.start_supervisor();
  rig.wait_workers(3);
  const int descriptors = count_descriptors(rig.supervisor().pid());
  std::string fenced;
  const int acts = rounds(30);
  for (int i = 0; i < acts; ++i) {
    rig.give_runs(2);
    switch (rig.random(9)) {
      case 0:
        rig.pgflow({"scale", "classify=" + std::to_string(rig.random(5))});
        break;
      case 1:
        rig.pgflow({"scale", "classify=x" + std::to_string(1 + rig.random(8))});
        break;
      case 2:
        rig.pgflow({"pause", "classify"});
        break;
      case 3:
        rig.pgflow({"resume", "classify"});
        break;
      case 4:
        rig.pgflow({"restart", "--all"});
        break;
      case 5:
        if (fenced.empty()) {
          rig.pgflow({"fence", "chaosV1/classify", "--reason", "chaos"});
          fenced = "chaosV1/classify";
        } else {
          rig.pgflow({"unfence", fenced, "--force", "--reason", "chaos"});
          fenced.clear();
        }
        break;
      case 6:
        rig.pgflow({"drain", "deliver", "--timeout", "2s"});
        rig.pgflow({"resume", "deliver"});
        break;
      default:
        for (const Worker& worker : rig.workers()) {
          if (rig.random(3) == 0) rig.kill_worker(worker);
        }
    }
  }
  if (!fenced.empty()) rig.pgflow({"unfence", fenced, "--force", "--reason", "the end"});
  rig.pgflow({"resume", "--all"});
  rig.pgflow({"scale", "classify", "--reset", "--wait"});
  rig.finish_and_judge(std::chrono::seconds(120));
  rig.wait_workers(3);
  CHECK(count_descriptors(rig.supervisor().pid()) == descriptors);
  rig.stop_and_look();
}
