// The supervisor with real processes and a real database; its workers are
// tests/integration/programs/fake_worker.
#include <algorithm>
#include <map>

#include "integration/supervisor_rig.hpp"

using namespace pgflow;
using namespace pgflow::test;

// --- starting

TEST_CASE("one process a slot, each with its own worker id and queue", "[supervisor]") {
  Rig rig({.steps = R"("a": {"processes": 3}, "b": {})"});
  rig.start();
  rig.wait_ready(4);
  CHECK(rig.started("a").size() == 3);
  CHECK(rig.started("b").size() == 1);
  CHECK(
      rig.database.value("select string_agg(queue_name || ' ' || n, ', ' order by queue_name) from "
                         "(select queue_name, "
                         "count(distinct worker_id) n from pgflow.workers group by 1) w"
      ) == "fake__a 3, fake__b 1"
  );
  CHECK(
      rig.database.value("select queue_mode from pgflow.flows where flow_slug = 'fake'") == "step"
  );
}

TEST_CASE("a worker has exactly the descriptors 0 to 5 and a session of its own", "[supervisor]") {
  Rig rig;
  rig.start();
  rig.wait_ready();
  const int pid = rig.started("a")[0].pid;
  std::vector<int> descriptors;
  for (const auto& fd :
       std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/fd")) {
    descriptors.push_back(std::stoi(fd.path().filename()));
  }
  std::sort(descriptors.begin(), descriptors.end());
  // 6 is its own connection to the database.
  REQUIRE(descriptors.size() >= 6);
  CHECK(std::vector(descriptors.begin(), descriptors.begin() + 6) == std::vector{0, 1, 2, 3, 4, 5});
  CHECK(descriptors.size() <= 7);
  CHECK(getsid(pid) == pid);
  CHECK(test::read_file("/proc/" + std::to_string(pid) + "/oom_score_adj") == "300\n");
}

TEST_CASE("a second supervisor on the same state folder ends with 73", "[supervisor]") {
  Rig rig;
  rig.start();
  rig.wait_ready();
  test::Process second(
      {.arguments = {PGFLOW_BIN_DIR "/pgflow", "up", "-c", rig.config()},
       .environment = {{"DATABASE_URL", rig.database.url()}}}
  );
  CHECK(second.wait(kSoon) == 73);
  CHECK(second.err().find("error: Another supervisor runs on ") != std::string::npos);
  CHECK(
      second.err().find("Its pid is " + std::to_string(rig.supervisor().pid()) + ".") !=
      std::string::npos
  );
  CHECK(rig.started().size() == 2);
}

TEST_CASE("a worker program that describes itself wrongly ends the start with 65", "[supervisor]") {
  const auto [fake, text] = GENERATE(table<std::string, std::string>({
      {"describe:rubbish", "It printed: Hello, I am no manifest."},
      {"describe:nothing", "It printed nothing."},
      {"describe:65", "ended with exit code 65.\ndetail: It said: error: bad flow"},
      {"describe:endless", "prints without end"},
  }));
  CAPTURE(fake);
  Rig rig({.fake = fake});
  CHECK(rig.start().wait(kSoon) == 65);
  CAPTURE(rig.supervisor().err());
  CHECK(rig.said(text));
  CHECK(rig.said("\nhint: "));
  CHECK(rig.started().empty());
}

TEST_CASE("a missing worker program ends the start with 78", "[supervisor]") {
  Rig rig({.program = "./no_such_worker"});
  CHECK(rig.start().wait(kSoon) == 78);
  CHECK(rig.said("flows[0].worker.command[0]: is no program, got \"./no_such_worker\""));
  CHECK(rig.said("hint: It was looked for at "));
}

TEST_CASE("a step that the program does not have ends the start with 78", "[supervisor]") {
  Rig rig({.steps = R"("a": {}, "bb": {})"});
  CHECK(rig.start().wait(kSoon) == 78);
  CAPTURE(rig.supervisor().err());
  CHECK(rig.said(
      ":5:20: flows[0].steps.bb: is no step of fake, got \"bb\"\nhint: Did you mean \"b\"?"
  ));
  CHECK(rig.database.value("select count(*) from pgflow.flows") == "0");
}

TEST_CASE("a database without the schema ends the start with 78", "[supervisor]") {
  const test::Database bare("template1");
  Rig rig({.url = bare.url()});
  CHECK(rig.start().wait(kSoon) == 78);
  CAPTURE(rig.supervisor().err());
  CHECK(rig.said("pgflow migrate up"));
  CHECK(rig.started().empty());
}

TEST_CASE("a flow that differs from the database ends the start with 78", "[supervisor]") {
  Rig rig;
  rig.database.rows("select pgflow.create_flow('fake')");
  rig.database.rows("select pgflow.add_step('fake', 'a')");
  CHECK(rig.start().wait(kSoon) == 78);
  CAPTURE(rig.supervisor().err());
  CHECK(rig.said("error: "));
  CHECK(rig.started().empty());
}

TEST_CASE("a database that is away at the start is waited for", "[supervisor]") {
  const test::Database other;
  const std::string name = other.value("select current_database()");
  const test::Database admin;
  admin.rows("alter database \"" + name + "\" allow_connections false");
  Rig rig({.url = other.url()});
  rig.start();
  eventually("it says so", kSoon, [&] { return rig.said("database.down"); });
  CHECK(rig.started().empty());
  admin.rows("alter database \"" + name + "\" allow_connections true");
  rig.wait_ready();
  CHECK(rig.times_said("database.down") == 1);
  CHECK(rig.times_said("database.up") == 1);
  rig.supervisor().signal(SIGTERM);
  CHECK(rig.supervisor().wait(kSoon) == 0);
}

TEST_CASE("a database that is away ends a start that requires it, with 69", "[supervisor]") {
  Rig rig({.url = "postgresql://127.0.0.1:1/nowhere"});
  rig.start_with({}, {}, {"--require-db"});
  CHECK(rig.supervisor().wait(kSoon) == 69);
  CHECK(rig.said("error: The database does not answer: "));
  CHECK(rig.said("hint: Without --require-db it is waited for."));
}

TEST_CASE("a stop is obeyed while the database is waited for", "[supervisor]") {
  Rig rig({.url = "postgresql://nobody@localhost:1/nowhere"});
  rig.start();
  eventually("it says so", kSoon, [&] { return rig.said("database.down"); });
  rig.supervisor().signal(GENERATE(SIGTERM, SIGINT));
  CHECK(rig.supervisor().wait(kSoon) == 0);
}

TEST_CASE("what a worker writes goes into the supervisor's log", "[supervisor]") {
  Rig rig({.fake = "talks"});
  rig.start();
  rig.wait_ready();
  // A log line as it is, anything else as one that names the worker.
  const std::string worker_id = rig.started("a")[0].worker_id;
  CHECK(rig.said("event=worker.output slot=fake/a#1 worker_id=" + worker_id + " text=printed\n"));
  CHECK(rig.said("\n2026-01-31T00:00:00.000000Z level=info component=worker event=logged\n"));
}

TEST_CASE("whoever watches is told of every state of every slot", "[supervisor]") {
  Rig rig;
  test::Process probe(
      {.arguments = {PGFLOW_BIN_DIR "/supervisor_probe", rig.config()},
       .environment = {{"DATABASE_URL", rig.database.url()}, {"FAKE_LEDGER", rig.path("ledger")}}}
  );
  eventually("a is ready", kSoon, [&] {
    return probe.out().find("a#1 ready") != std::string::npos;
  });
  probe.signal(SIGTERM);
  CHECK(probe.wait(kSoon) == 0);
  const std::string told = probe.out();
  CAPTURE(told);
  std::size_t at = 0;
  for (const char* line :
       {"phase starting",
        "a#1 starting",
        "phase running",
        "a#1 ready",
        "a#1 draining",
        "phase stopping",
        "phase stopped"}) {
    CAPTURE(line);
    at = told.find(line, at);
    REQUIRE(at != std::string::npos);
  }
}

TEST_CASE("up refuses a config that wants the embedded database", "[supervisor]") {
  const test::TemporaryFolder folder;
  std::ofstream(
      folder.path() + "/pgflow.json"
  ) << R"({"version": 1, "database": {"embedded": true, "url_env": "PGFLOW_TEST_UNSET"}, "flows": [)"
    << R"({"slug": "fake", "worker": {"command": [")" PGFLOW_BIN_DIR R"(/fake_worker"]}, )"
    << R"("steps": {"a": {}, "b": {}}}]})";
  test::Process up(
      {.arguments = {PGFLOW_BIN_DIR "/pgflow", "up", "-c", folder.path() + "/pgflow.json"}}
  );
  CHECK(up.wait(kSoon) == 78);
  CHECK(up.err().find("pgflow dev") != std::string::npos);
}

// --- deaths

// --- wake-ups

TEST_CASE("the pool that gets work from another pool's worker is woken", "[supervisor]") {
  Rig rig({.fake = "gives_work"});
  rig.start();
  rig.wait_ready();
  eventually("b is woken", kSoon, [&] {
    return test::read_file(rig.path("ledger.woken")).find("b\n") != std::string::npos;
  });
}

TEST_CASE("a notification wakes the pool of that queue, and no other", "[supervisor]") {
  Rig rig;
  rig.start();
  rig.wait_ready();
  eventually("it listens", kSoon, [&] { return rig.said("wake_ups.on"); });
  rig.database.value("select pg_notify('pgflow_wake', 'fake__b')");
  eventually("b is woken", kSoon, [&] {
    return test::read_file(rig.path("ledger.woken")) == "b\n";
  });
}

TEST_CASE("a killed worker is replaced, and its tasks are claimable at once", "[supervisor]") {
  Rig rig;
  rig.start();
  rig.wait_ready();
  rig.change("hold:3");
  rig.supervisor().signal(SIGTERM);
  REQUIRE(rig.supervisor().wait(kSoon) == 0);
  rig.give_tasks(3);
  rig.start();
  eventually("three tasks are in hand", kSoon, [&] {
    return rig.tasks("count(*) filter (where status = 'started')") == "3";
  });
  const auto first = rig.started("a").back();
  const auto starts = rig.started("a").size();
  kill(first.pid, SIGKILL);
  const auto second = rig.wait_start("a", starts + 1);
  CHECK(second.worker_id != first.worker_id);
  eventually("the dead worker is stopped and has nothing", kSoon, [&] {
    return rig.database.value(
               "select (w.stopped_at is not null) and not exists (select from pgflow.step_tasks t "
               "where "
               "t.status = 'started' and t.last_worker_id = w.worker_id) from pgflow.workers w "
               "where "
               "w.worker_id = '" +
               first.worker_id + "'"
           ) == "t";
  });
  CHECK(rig.said("reason=external_kill"));
  eventually("the replacement has all three", kSoon, [&] {
    return rig.tasks("count(*) filter (where status = 'started')") == "3";
  });
  CHECK(rig.tasks("max(attempts_count)") == "1");
  CHECK(rig.tasks("max(crash_count)") == "0");
  CHECK(rig.tasks("max(requeued_count)") == "0");
}

TEST_CASE("a task that crashes its worker pays with its own attempts", "[supervisor]") {
  Rig rig;
  rig.start();
  rig.wait_ready();
  rig.supervisor().signal(SIGTERM);
  REQUIRE(rig.supervisor().wait(kSoon) == 0);
  rig.give_tasks(1);
  rig.change("segv");
  rig.start();
  eventually("the crash is counted against the task", kSoon, [&] {
    return std::stoi(rig.tasks("max(crash_count)")) >= 1;
  });
  CHECK(rig.said("reason=crash_signal"));
  CHECK(rig.said("last_output=\"the fake worker falls\""));
  CHECK(rig.tasks("max(error_message)").find("SIGSEGV") != std::string::npos);
}

TEST_CASE("failed pools end a supervisor that is told so, with 70", "[supervisor]") {
  const std::string rest = R"(, "kill_margin": "1s")";
  Rig rig({.fake = "fatal:78"});
  SECTION("the first one") {
    rig.change_supervisor(R"("exit_when": "any_required_failed")" + rest);
    rig.start();
    CHECK(rig.supervisor().wait(kSoon) == 70);
    rig.check_nothing_left();
  }
  SECTION("not while another one works") {
    rig.change_supervisor(R"("exit_when": "all_failed")" + rest);
    rig.start();
    eventually("the pool has failed", kSoon, [&] { return rig.said("pool.failed"); });
    rig.supervisor().signal(SIGTERM);
    CHECK(rig.supervisor().wait(kSoon) == 0);
  }
}

TEST_CASE(
    "a permanent exit fails the pool, without a loop and without harm to others", "[supervisor]"
) {
  Rig rig({.fake = "fatal:78"});
  rig.start();
  eventually("the pool has failed", kSoon, [&] { return rig.said("pool.failed"); });
  CHECK(rig.said("The routes differ."));
  // The other pool shows that starts go on.
  for (std::size_t round = 1; round <= 3; ++round) {
    kill(rig.wait_start("b", round).pid, SIGKILL);
    rig.wait_start("b", round + 1);
  }
  CHECK(rig.started("a").size() == 1);
  CHECK(rig.said("slot=fake/a#1 from=starting by=exited_final to=failed"));
  rig.supervisor().signal(SIGTERM);
  CHECK(rig.supervisor().wait(kSoon) == 0);
  rig.check_nothing_left();
}

TEST_CASE("a worker that cannot live is started again and again, ever later", "[supervisor]") {
  const auto fake = GENERATE("exit:7", "exit:0", "ready_then_exit:0", "garbage", "exit:75");
  CAPTURE(fake);
  Rig rig({.fake = fake});
  rig.start();
  rig.wait_start("a", 4);
  CHECK_FALSE(rig.said("pool.failed"));
  CHECK(rig.started("b").size() == 1);
  rig.supervisor().signal(SIGTERM);
  CHECK(rig.supervisor().wait(kSoon) == 0);
  rig.check_nothing_left();
}

TEST_CASE("a worker that is not ready in time is killed and started again", "[supervisor]") {
  Rig rig({.fake = "silent", .defaults = R"("start_timeout": "1s", "restart": {"max": "250ms"})"});
  rig.start();
  rig.wait_start("a", 2);
  eventually("the reason is told", kSoon, [&] { return rig.said("reason=start_timeout"); });
  CHECK_FALSE(alive(rig.started("a")[0].pid));
}

TEST_CASE("a worker whose loop stands still is killed and started again", "[supervisor]") {
  Rig rig({.fake = "hang", .defaults = R"("watchdog": "2s", "restart": {"max": "250ms"})"});
  rig.start();
  rig.wait_start("a", 2);
  CHECK(rig.said("signal=6 reason=hung"));
  CHECK_FALSE(alive(rig.started("a")[0].pid));
  CHECK(rig.started("b").size() == 1);
}

TEST_CASE("a worker that hangs and does not abort is killed all the same", "[supervisor]") {
  Rig rig({.fake = "deaf_hang", .defaults = R"("watchdog": "2s", "restart": {"max": "250ms"})"});
  rig.start();
  rig.wait_start("a", 2);
  CHECK(rig.said("signal=9 reason=hung"));
}

TEST_CASE("a worker that closes its socket is killed and started again", "[supervisor]") {
  Rig rig({.fake = "closes"});
  rig.start();
  rig.wait_start("a", 2);
  CHECK(rig.said("reason=contract_broken"));
  CHECK_FALSE(alive(rig.started("a")[0].pid));
}

TEST_CASE("what a dead worker leaves running is killed, in whatever session", "[supervisor]") {
  Rig rig({.fake = "daemon"});
  rig.start();
  rig.wait_ready();
  const auto worker = rig.started("a")[0];
  const auto carriers_of = [](const Started& one) {
    int count = 0;
    for (const auto& process : std::filesystem::directory_iterator("/proc")) {
      const auto environment = test::read_file(process.path().string() + "/environ");
      if (environment.find("PGFLOW_WORKER_ID=" + one.worker_id) != std::string::npos) ++count;
    }
    return count;
  };
  const auto carriers = [&] { return carriers_of(worker); };
  CHECK(carriers() == 2);
  kill(worker.pid, SIGKILL);
  rig.wait_start("a", 2);
  CHECK(carriers() == 0);
  // A drained worker's leftovers go too.
  rig.supervisor().signal(SIGTERM);
  CHECK(rig.supervisor().wait(kSoon) == 0);
  CHECK(carriers_of(rig.started("a")[1]) == 0);
}

// --- the database goes and comes

TEST_CASE("workers outlive a lost database, and releases wait for it", "[supervisor]") {
  Rig rig;
  rig.start();
  rig.wait_ready();
  const auto before = rig.started();
  const test::Database admin;
  const std::string name = rig.database.value("select current_database()");
  admin.rows("alter database \"" + name + "\" allow_connections false");
  admin.rows(
      "select pg_terminate_backend(pid) from pg_stat_activity where datname = '" + name +
      "' and application_name = 'pgflow-supervisor'"
  );
  eventually("the loss is told", kSoon, [&] { return rig.said("database.down"); });
  kill(rig.started("a")[0].pid, SIGKILL);
  eventually("the release is on disk", kSoon, [&] {
    return rig.journal().find(before[0].worker_id) != std::string::npos ||
           rig.journal().find(before[1].worker_id) != std::string::npos;
  });
  CHECK(alive(rig.started("b")[0].pid));
  CHECK(rig.started().size() == 2);
  admin.rows("alter database \"" + name + "\" allow_connections true");
  rig.wait_start("a", 2);
  eventually("the release is in the database", kSoon, [&] { return rig.journal().empty(); });
  CHECK(rig.times_said("database.down") == 1);
  rig.supervisor().signal(SIGTERM);
  CHECK(rig.supervisor().wait(kSoon) == 0);
  rig.check_nothing_left();
}

// --- the supervisor itself dies

TEST_CASE("a new supervisor repeats what the journal of a dead one holds", "[supervisor]") {
  Rig rig;
  rig.start();
  rig.wait_ready();
  rig.supervisor().signal(SIGTERM);
  REQUIRE(rig.supervisor().wait(kSoon) == 0);
  // A worker that died unnoticed, with a task in hand.
  const std::string dead = "11111111-2222-4333-8444-555555555555";
  rig.give_tasks(1);
  rig.database.rows(
      "select pgflow.register_worker('" + dead + "', 'fake__a', 'fake/a', 'process', 1)"
  );
  rig.database.rows(
      "select * from pgflow.read_and_claim('fake__a', 'fake', 'a', '" + dead + "', 1)"
  );
  REQUIRE(rig.tasks("max(status)") == "started");
  std::ofstream(rig.path("state/releases.jsonl"))
      << "{\"release\":\"" << dead << "\",\"reason\":\"died\",\"guilty\":[]}\n{\"rel";
  rig.start();
  eventually("the task is free", kSoon, [&] { return rig.tasks("max(status)") == "queued"; });
  eventually("the journal is empty", kSoon, [&] { return rig.journal().empty(); });
  CHECK(rig.tasks("max(attempts_count)") == "0");
  CHECK(rig.said("journal.replayed"));
}

TEST_CASE("a slot is filled again only when its orphan is gone", "[supervisor]") {
  Rig rig(
      {.fake = "clings", .supervisor = R"("shutdown_deadline": "500ms", "kill_margin": "500ms")"}
  );
  rig.start();
  rig.wait_ready();
  const auto orphan = rig.started("a")[0];
  rig.supervisor().signal(SIGKILL);
  REQUIRE(rig.supervisor().wait(kSoon) == 128 + SIGKILL);
  REQUIRE(alive(orphan.pid));
  rig.change("good");
  rig.start();
  rig.wait_start("a", 2);
  CHECK_FALSE(alive(orphan.pid));
  CHECK(rig.said("orphan.killed"));
  eventually("the orphan's row is stopped", kSoon, [&] {
    return rig.database.value(
               "select stopped_at is not null from pgflow.workers where worker_id = '" +
               orphan.worker_id + "'"
           ) == "t";
  });
}

TEST_CASE("workers of a killed supervisor end, and their tasks are given back", "[supervisor]") {
  Rig rig;
  rig.start();
  rig.wait_ready();
  rig.supervisor().signal(SIGTERM);
  REQUIRE(rig.supervisor().wait(kSoon) == 0);
  rig.give_tasks(2);
  rig.change("hold:2");
  rig.start();
  eventually("two tasks are in hand", kSoon, [&] {
    return rig.tasks("count(*) filter (where status = 'started')") == "2";
  });
  rig.supervisor().signal(SIGKILL);
  REQUIRE(rig.supervisor().wait(kSoon) == 128 + SIGKILL);
  rig.change("good");
  rig.start();
  eventually("both are free", kSoon, [&] {
    return rig.tasks("count(*) filter (where status = 'queued' and attempts_count = 0)") == "2";
  });
  rig.wait_ready();
  rig.supervisor().signal(SIGTERM);
  CHECK(rig.supervisor().wait(kSoon) == 0);
  rig.check_nothing_left();
}

// --- stopping

TEST_CASE("TERM, however often, drains once and leaves nothing behind", "[supervisor]") {
  Rig rig({.steps = R"("a": {"processes": 3}, "b": {})"});
  rig.start();
  rig.wait_ready(4);
  for (int i = 0; i < 10; ++i) rig.supervisor().signal(SIGTERM);
  CHECK(rig.supervisor().wait(kSoon) == 0);
  CHECK(rig.times_said("reason=drained") == 4);
  rig.check_nothing_left();
}

TEST_CASE("a worker that does not drain is killed after deadline and margin", "[supervisor]") {
  Rig rig(
      {.fake = "ignores_drain",
       .supervisor = R"("shutdown_deadline": "300ms", "kill_margin": "300ms")"}
  );
  rig.start();
  rig.wait_ready();
  rig.supervisor().signal(SIGTERM);
  CHECK(rig.supervisor().wait(kSoon) == 0);
  CHECK(rig.times_said("reason=drain_overdue") >= 1);
  CHECK(rig.times_said("reason=drained") == 1);
  rig.check_nothing_left();
}

TEST_CASE("a second INT ends everything at once with 1", "[supervisor]") {
  Rig rig({.fake = "ignores_drain"});
  rig.start();
  rig.wait_ready();
  rig.supervisor().signal(SIGINT);
  eventually("the well-behaved worker has drained", kSoon, [&] {
    return rig.said("reason=drained");
  });
  // A bounce of the same key press is not a second one: wait until it would count.
  eventually("the first INT is 250 ms old", kSoon, [begin = std::chrono::steady_clock::now()] {
    return std::chrono::steady_clock::now() - begin > 300ms;
  });
  CHECK(rig.supervisor().running());
  rig.supervisor().signal(SIGINT);
  CHECK(rig.supervisor().wait(5s) == 1);
  CHECK(rig.said("reason=operator_kill"));
  rig.check_nothing_left();
}

TEST_CASE("a stop during the start leaves nothing behind", "[supervisor]") {
  Rig rig(
      {.fake = "silent", .supervisor = R"("shutdown_deadline": "200ms", "kill_margin": "200ms")"}
  );
  rig.start();
  rig.wait_start("a", 1);
  rig.supervisor().signal(SIGTERM);
  CHECK(rig.supervisor().wait(kSoon) == 0);
  rig.check_nothing_left();
}

TEST_CASE("a supervisor whose log nobody reads replaces its workers and stops", "[supervisor]") {
  const test::UnreadPipe log;
  Rig rig;
  rig.start({{log.writer(), 2}});
  rig.wait_start("a", 1);
  std::size_t starts = 0;
  eventually("it has nowhere to log", kSoon, [&] {
    const auto all = rig.started("a");
    if (all.size() > starts) kill(all[starts++].pid, SIGKILL);
    return log.is_full();
  });
  const auto before = rig.started("a");
  kill(before.back().pid, SIGKILL);
  rig.wait_start("a", before.size() + 1);
  rig.supervisor().signal(SIGTERM);
  CHECK(rig.supervisor().wait(kSoon) == 0);
  rig.check_nothing_left();
}
