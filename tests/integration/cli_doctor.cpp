// `pgflow doctor`: each thing that can be wrong is named with its id, a hint, and the right state.
#include <sys/stat.h>

#include <fstream>

#include "cli_support.hpp"
#include "own_server.hpp"
#include "supervisor/views.hpp"
#include "support/pooler.hpp"
#include "support/process_limit.hpp"
#include "support/sql_session.hpp"

using namespace pgflow;
using namespace pgflow::cli;
using namespace pgflow::test;

namespace {

struct Examined {
  int exit_code = -1;
  DoctorView view;

  // "fail: text | detail"; "none" when there is no such check.
  std::string at(const std::string& id) const {
    for (const DoctorCheck& check : view.checks) {
      if (check.id == id)
        return check.state + ": " + check.text + " | " + check.detail.value_or("");
    }
    return "none";
  }
};

Examined examined(const Ended& ended) {
  INFO(ended.err);
  Examined result{ended.exit_code, from_json<DoctorView>(ended.out)};
  CHECK(result.view.healthy == (ended.exit_code == 0));
  for (const DoctorCheck& check : result.view.checks) {
    INFO(check.id);
    if (check.state == "fail" || check.state == "warn") CHECK(check.hint.has_value());
  }
  return result;
}

Examined examine(const std::string& url, std::vector<std::string> more = {}) {
  more.insert(more.begin(), {"doctor", "-o", "json", "-d", url});
  return examined(run_pgflow(more));
}

}  // namespace

TEST_CASE("a healthy database and host have nothing that fails", "[cli][doctor]") {
  FlowDatabase database;
  database.worker("00000000-0000-4000-8000-000000000001", "classify");
  database.worker("00000000-0000-4000-8000-000000000002", "deliverSlack");
  const Examined result = examine(database.url());
  CHECK(result.exit_code == 0);
  for (const char* id :
       {"PGF101",
        "PGF103",
        "PGF104",
        "PGF105",
        "PGF106",
        "PGF107",
        "PGF109",
        "PGF112",
        "PGF113",
        "PGF114",
        "PGF115",
        "PGF116",
        "PGF117",
        "PGF123"}) {
    CHECK(result.at(id).substr(0, 3) == "ok:");
  }
  CHECK(contains(database.ask({"doctor"}).out, "✓ PGF105  schema: version "));
}

TEST_CASE("an unreachable database fails, and what needs it is not asked", "[cli][doctor]") {
  const Examined result = examine("postgresql://nobody@127.0.0.1:1/none");
  CHECK(result.exit_code == 1);
  CHECK(
      contains(result.at("PGF101"), "fail: Cannot connect to the database nobody@127.0.0.1:1/none.")
  );
  CHECK(result.at("PGF105") == "none");
}

TEST_CASE("a schema that is behind or missing fails", "[cli][doctor]") {
  const Database empty("template1");
  Examined result = examine(empty.url());
  CHECK(result.exit_code == 1);
  CHECK(result.at("PGF105").starts_with("fail:"));
  CHECK(result.at("PGF112").starts_with("skip:"));

  const Database behind;
  behind.value(
      "delete from pgflow.schema_migrations where version = (select max(version) from "
      "pgflow.schema_migrations)"
  );
  result = examine(behind.url());
  CHECK(result.at("PGF105").starts_with("fail:"));
  CHECK(contains(run_pgflow({"doctor", "-d", behind.url()}).out, "hint: Run `pgflow migrate up`."));
}

TEST_CASE("a server that cannot be written to fails", "[cli][doctor]") {
  FlowDatabase database;
  const Examined read_only =
      examine(database.url() + " options='-c default_transaction_read_only=on'");
  CHECK(read_only.exit_code == 1);
  CHECK(contains(read_only.at("PGF103"), "fail: every transaction here is read-only"));
}

TEST_CASE("a standby fails", "[cli][doctor]") {
  const OwnServer server;
  const Database database("pgflow_template", server.address());
  server.demote();
  const Examined result = examine(database.url());
  CHECK(result.exit_code == 1);
  CHECK(contains(result.at("PGF103"), "fail: this server is a read-only standby"));
  server.promote();
}

TEST_CASE("a pooler in transaction mode is a warning", "[cli][doctor]") {
  FlowDatabase database;
  const Pooler pooler(Server::shared(), 2);
  const Examined result = examine(pooler.url(database.url()));
  CHECK(contains(result.at("PGF104"), "warn: a connection pooler in transaction mode"));
  CHECK(result.at("PGF105").starts_with("ok:"));
}

TEST_CASE("a step without a worker warns, and fails while work waits", "[cli][doctor]") {
  FlowDatabase database;
  Examined result = examine(database.url());
  CHECK(result.exit_code == 0);
  CHECK(
      result.at("PGF112") ==
      "warn: steps without a live worker | communityThreads/classify; "
      "communityThreads/deliverSlack"
  );
  database.start("{}");
  result = examine(database.url());
  CHECK(result.exit_code == 1);
  CHECK(contains(
      result.at("PGF112"),
      "fail: steps without a live worker | "
      "communityThreads/classify: 1 task(s) wait; "
  ));
}

TEST_CASE("stalled tasks, dropped and foreign queues fail or warn", "[cli][doctor]") {
  FlowDatabase database;
  const std::string run = database.start("{}");
  database.worker(FlowDatabase::kWorker, "classify");
  database->value(
      "select count(*) from pgflow.read_and_claim('communitythreads__classify', "
      "'communityThreads', 'classify', '" +
      std::string(FlowDatabase::kWorker) + "', 1)"
  );
  database->value("update pgflow.step_tasks set permanently_stalled_at = now()");
  Examined result = examine(database.url());
  CHECK(result.exit_code == 1);
  CHECK(
      result.at("PGF113") ==
      "fail: tasks that no worker gets | communityThreads/classify[0] of run " + run
  );
  CHECK(result.at("PGF114").starts_with("ok:"));

  database->value("select pgmq.create('somebodys__queue')");
  result = examine(database.url());
  CHECK(
      result.at("PGF114") ==
      "warn: queues and flows do not fit | queue somebodys__queue belongs to no flow"
  );
  database->value("select pgmq.drop_queue('communitythreads__deliverslack')");
  result = examine(database.url());
  CHECK(contains(
      result.at("PGF114"),
      "fail: queues and flows do not fit | flow communityThreads lacks its queue "
      "communitythreads__deliverslack"
  ));
}

TEST_CASE("a run that was written past the engine fails", "[cli][doctor]") {
  FlowDatabase database;
  const std::string run =
      database->value("select run_id from pgflow.start_flow('communityThreads', '{}')");
  database->value("update pgflow.runs set remaining_steps = 1");
  const Examined result = examine(database.url());
  CHECK(result.exit_code == 1);
  CHECK(
      result.at("PGF123") ==
      "fail: rows that the engine would never write | communityThreads, run " + run +
          ": The run is started, remaining_steps is 1; 2 of its steps are not over."
  );
  // What can be mended is not called broken.
  database->value("update pgflow.runs set remaining_steps = 2");
  database->value("select pgmq.purge_queue('communitythreads__classify')");
  const Examined purged = examine(database.url());
  CHECK(purged.at("PGF113").starts_with("fail:"));
  CHECK(purged.at("PGF123").starts_with("ok:"));
}

TEST_CASE("disabled functions and fences that stand are warnings", "[cli][doctor]") {
  FlowDatabase database;
  database->value("select pgflow.track_worker_function('old', 'process')");
  database->value("update pgflow.worker_functions set enabled = false");
  database->value(
      "select count(*) from pgflow.fence_functions(gen_random_uuid(), 'x', "
      "'{communityThreads/classify}', 'ops', 'deployment')"
  );
  const Examined result = examine(database.url());
  CHECK(result.at("PGF115") == "warn: worker functions are disabled | old");
  CHECK(contains(result.at("PGF116"), " by ops since "));
  CHECK(contains(result.at("PGF116"), ": deployment"));
}

TEST_CASE("a role without rights is told which it lacks", "[cli][doctor]") {
  FlowDatabase database;
  const std::string role = "doctor_" + database->value("select current_database()");
  database->rows(
      "create role " + role + " login; grant usage on schema pgflow, pgmq to " + role +
      "; grant select on all tables in schema pgflow to " + role
  );
  const Examined result = examine(database.url() + " user=" + role);
  database->rows("drop owned by " + role + "; drop role " + role);
  CHECK(result.exit_code == 1);
  CHECK(contains(result.at("PGF107"), "fail: this role lacks rights | it may not call pgflow."));
}

TEST_CASE(
    "a config whose program is missing fails, and so does one that needs too many connections",
    "[cli][doctor]"
) {
  FlowDatabase database;
  TemporaryFolder folder;
  const std::string file = folder.path() + "/pgflow.json";
  const auto write = [&](const std::string& program, const std::string& processes) {
    std::ofstream(file) << R"({"version": 1, "database": {"max_connections": 5000}, "flows": [{)"
                        << R"("slug": "f", "worker": {"command": [")" << program
                        << R"("]}, "steps": {"a": {"processes": )" << processes << "}}}]}";
  };
  write("./nowhere", "1");
  Examined result = examine(database.url(), {"-c", file});
  CHECK(result.exit_code == 1);
  CHECK(result.at("PGF118").starts_with("ok:"));
  CHECK(contains(result.at("PGF119"), "fail: flows[0].worker.command"));

  write("/bin/true", "900");
  result = examine(database.url(), {"-c", file});
  CHECK(result.exit_code == 1);
  CHECK(result.at("PGF119").starts_with("ok:"));
  CHECK(contains(result.at("PGF108"), "fail: "));
  CHECK(contains(result.at("PGF108"), "the config's workers need 1803"));

  write("/bin/true", "1\", \"x\": 3");
  result = examine(database.url(), {"-c", file});
  CHECK(result.at("PGF118").starts_with("fail:"));
}

TEST_CASE("too few descriptors fail", "[cli][doctor]") {
  FlowDatabase database;
  Command command = pgflow_command({"doctor", "-o", "json", "-d", database.url()});
  command.arguments.insert(
      command.arguments.begin(), {"/bin/sh", "-c", "ulimit -n 100; exec \"$@\"", "sh"}
  );
  Process process(command);
  const auto code = process.wait(30s);
  REQUIRE(code.has_value());
  const Examined result = examined({*code, process.out(), process.err()});
  CHECK(result.exit_code == 1);
  CHECK(contains(result.at("PGF121"), "fail: 100 open files at most"));
}

TEST_CASE("a limit of processes that the workers do not fit in is told", "[cli][doctor]") {
  FlowDatabase database;
  TemporaryFolder folder;
  const std::string file = folder.path() + "/pgflow.json";
  const auto result = [&](const std::string& processes) {
    std::ofstream(file
    ) << R"({"version": 1, "database": {"max_connections": 5000}, "flows": [{"slug": "f", "worker": {"command": ["/bin/true"]},)"
      << R"("steps": {"a": {"max_concurrent": 4, "processes": )" << processes << "}}}]}";
    give_to_limited_user(folder.path());
    Command command = pgflow_command({"doctor", "-o", "json", "-d", database.url(), "-c", file});
    std::vector<std::string> before = as_limited_user();
    before.insert(before.end(), {"/usr/bin/prlimit", "--nproc=500"});
    command.arguments.insert(command.arguments.begin(), before.begin(), before.end());
    Process process(command);
    const auto code = process.wait(30s);
    REQUIRE(code.has_value());
    return examined({*code, process.out(), process.err()}).at("PGF122");
  };
  CHECK(contains(result("99"), "ok: 500 processes and threads at most"));
  CHECK(contains(
      result("100"), "warn: 500 processes and threads at most; the config's workers have up to 500"
  ));
  CHECK(contains(result("500"), "fail: 500 processes"));
}

TEST_CASE(
    "a server without autovacuum fails, a transaction that sleeps is a warning", "[cli][doctor]"
) {
  const TemporaryFolder folder;
  chmod(folder.path().c_str(), 0755);
  const std::string clock = folder.path() + "/clock";
  std::ofstream(clock) << "+0";
  const OwnServer server(
      {{"LD_PRELOAD", PGFLOW_FAKETIME},
       {"FAKETIME_TIMESTAMP_FILE", clock},
       {"FAKETIME_NO_CACHE", "1"},
       {"DONT_FAKE_MONOTONIC", "1"}}
  );
  const Database database("pgflow_template", server.address());
  SqlSession sleeper(database);
  sleeper.rows("set application_name = 'sleeper'");
  sleeper.rows("begin");
  Examined result = examine(database.url());
  CHECK(result.exit_code == 0);
  CHECK(result.at("PGF110").starts_with("ok:"));
  CHECK(result.at("PGF111").starts_with("ok:"));

  std::ofstream(clock) << "+5m";
  database.rows("alter table pgflow.runs set (autovacuum_enabled = false)");
  result = examine(database.url());
  CHECK(result.exit_code == 0);
  CHECK(result.at("PGF110") == "warn: dead rows may pile up | autovacuum is off for pgflow.runs");
  CHECK(contains(
      result.at("PGF111"),
      "warn: sessions sleep inside a transaction | pid " + std::to_string(sleeper.backend_pid()) +
          " (sleeper) for 00:05:0"
  ));

  database.rows("alter system set autovacuum = off");
  database.rows("select pg_reload_conf()");
  eventually("it is off", 10s, [&] { return database.value("show autovacuum") == "off"; });
  result = examine(database.url());
  CHECK(result.exit_code == 1);
  CHECK(contains(
      result.at("PGF110"), "fail: dead rows may pile up | autovacuum is off for the whole server"
  ));
}

TEST_CASE("a worker that is silent and not stopped is a warning", "[cli][doctor]") {
  FlowDatabase database;
  database.worker(FlowDatabase::kWorker, "classify", "10 minutes");
  const Examined result = examine(database.url());
  CHECK(contains(
      result.at("PGF117"),
      "warn: workers that are silent and not stopped | " + std::string(FlowDatabase::kWorker) +
          " of communityThreads/classify on here, for 00:10:0"
  ));
}

TEST_CASE("a state folder that cannot be written to fails", "[cli][doctor]") {
  FlowDatabase database;
  TemporaryFolder folder;
  const std::string file = folder.path() + "/pgflow.json";
  std::ofstream(file
  ) << R"({"version": 1, "supervisor": {"state_dir": "/proc/none"}, "flows": [{"slug": "f", )"
    << R"("worker": {"command": ["/bin/true"]}, "steps": {"a": {}}}]})";
  const Examined result = examine(database.url(), {"-c", file});
  CHECK(result.exit_code == 1);
  CHECK(contains(result.at("PGF120"), "fail: /proc cannot be written to | "));

  // What needs no database is looked at without an address of one.
  const Examined offline = examined(run_pgflow({"doctor", "-o", "json", "-c", file}));
  CHECK(offline.at("PGF101").starts_with("fail:"));
  CHECK(offline.at("PGF120") == result.at("PGF120"));
  CHECK(offline.at("PGF122") == result.at("PGF122"));
}

TEST_CASE("every check of doctor has its paragraph in docs/doctor.md", "[cli][doctor]") {
  FlowDatabase database;
  const std::string page = read_file(PGFLOW_SOURCE_DIR "/docs/doctor.md");
  for (const DoctorCheck& check : examine(database.url()).view.checks) {
    INFO(check.id);
    CHECK(contains(page, "| " + check.id + " | " + check.name + " |"));
  }
}
