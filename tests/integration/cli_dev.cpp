// `pgflow dev`: from an empty folder to a completed run, and nothing left behind.
#include <signal.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "cli_support.hpp"
#include "local_pg/layout.hpp"
#include "support/process_limit.hpp"

namespace fs = std::filesystem;
namespace local_pg = pgflow::local_pg;
using namespace pgflow::test;

namespace {

// A project whose worker is the probe.
class Project {
 public:
  Project() {
    chmod(folder_.path().c_str(), 0755);  // root's server runs as another user
    std::ofstream(config()) << R"({"version": 1, "flows": [{"slug": "probeV1", "queue_mode": "step",
      "worker": {"command": [")" PGFLOW_BIN_DIR R"(/worker_probe"], "env": {"PROBE_LEDGER": ")"
                            << ledger() << R"("}},
      "steps": {"work": {"processes": 1, "max_concurrent": 2}, "report": {}}}]})";
  }

  std::string config() const { return folder_.path() + "/pgflow.json"; }
  std::string ledger() const { return folder_.path() + "/ledger"; }
  std::string data() const { return folder_.path() + "/.pgflow/data"; }

  Command dev(std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"dev", "-c", config()});
    return pgflow_command(more);
  }
  Ended ask(std::vector<std::string> arguments) const {
    arguments.insert(arguments.end(), {"-c", config()});
    return run_pgflow(arguments);
  }

 private:
  TemporaryFolder folder_;
};

void await_line(const Process& process, const std::string& line) {
  eventually("the screen shows " + line, 90s, [&] { return contains(process.out(), line); });
}

}  // namespace

TEST_CASE(
    "dev brings a project up, its verbs find the database, Ctrl-C leaves nothing running",
    "[cli][dev]"
) {
  Project project;
  {
    Process dev(project.dev());
    await_line(dev, "Ctrl-C");
    CHECK(contains(dev.out(), "(development mode, not for production)"));
    CHECK(contains(dev.out(), "✓ schema pgflow"));
    CHECK(contains(dev.out(), "✓ flow probeV1"));
    CHECK(contains(dev.out(), "work ×2  report ×10   2/2 steps covered"));

    const Ended second = run_pgflow({"dev", "-c", project.config()});
    CHECK(second.exit_code == 73);
    CHECK(second.out.empty());
    CHECK(contains(second.err, "error: Another supervisor runs on "));

    CHECK(project.ask({"coverage"}).exit_code == 0);
    const Ended run = project.ask(
        {"run",
         "start",
         "probeV1",
         "--input",
         R"({"act":"finish","tag":"one","file":""})",
         "--wait",
         "--timeout",
         "60s"}
    );
    CHECK(run.exit_code == 0);
    CHECK(contains(read_file(project.ledger()), "end 1 one\n"));
    CHECK(contains(project.ask({"db", "url"}).out, "postgresql:///pgflow?host="));

    dev.signal(SIGINT);
    CHECK(dev.wait(60s) == 0);
  }
  CHECK_FALSE(local_pg::running_postmaster(project.data()));
  CHECK(project.ask({"status"}).exit_code == 69);  // no database is named, and none runs

  // What was done is still there the next time.
  Process again(project.dev());
  await_line(again, "Ctrl-C");
  CHECK(contains(again.out(), "up to date"));
  CHECK(contains(project.ask({"run", "list"}).out, "completed"));
  again.signal(SIGTERM);
  CHECK(again.wait(60s) == 0);
}

TEST_CASE("an ephemeral dev leaves not one file", "[cli][dev]") {
  Project project;
  TemporaryFolder temporary;
  chmod(temporary.path().c_str(), 0755);
  Command command = project.dev({"--ephemeral"});
  command.environment.emplace_back("TMPDIR", temporary.path());
  Process dev(command);
  await_line(dev, "Ctrl-C");
  CHECK_FALSE(fs::is_empty(temporary.path()));
  dev.signal(SIGINT);
  CHECK(dev.wait(60s) == 0);
  CHECK(fs::is_empty(temporary.path()));
  CHECK_FALSE(fs::exists(project.data()));
}

TEST_CASE("Ctrl-C in the middle of the start ends dev with everything stopped", "[cli][dev]") {
  Project project;
  Process dev(project.dev());
  eventually("initdb has begun", 30s, [&] {
    return fs::exists(fs::path(project.data()).parent_path() / "data.tmp");
  });
  dev.signal(SIGINT);
  CHECK(dev.wait(30s) == 130);
  CHECK_FALSE(local_pg::running_postmaster(project.data()));
}

TEST_CASE("a folder that cannot be written to ends dev with 71", "[cli][dev]") {
  Project project;
  const fs::path folder = fs::path(project.config()).parent_path();
  Variables variables;
  SECTION("the project") {}
  SECTION("the data's") {
    fs::create_directories(folder / ".pgflow");
    fs::permissions(folder / ".pgflow", fs::perms::all);
    variables = {{"PGFLOW_DATA_DIR", folder / "data"}};
  }
  chmod(folder.c_str(), 0555);
  Command command = pgflow_command({"dev", "-c", project.config()}, variables);
  const std::vector<std::string> limited = as_limited_user();
  command.arguments.insert(command.arguments.begin(), limited.begin(), limited.end());
  Process dev(command);
  CHECK(dev.wait(30s) == 71);
  CHECK(contains(dev.err(), "Permission denied"));
  CHECK(contains(dev.err(), "hint: "));
  chmod(folder.c_str(), 0755);
}

TEST_CASE("a wrong config is told before anything is started", "[cli][dev]") {
  Project project;
  std::ofstream(project.config()) << R"({"version": 1, "flows": []})";
  Process dev(project.dev());
  CHECK(dev.wait(30s) == 78);
  CHECK(contains(dev.err(), project.config() + ":1:"));
  CHECK_FALSE(fs::exists(project.data()));
}

TEST_CASE("a mistake in a flow file ends dev with its place", "[cli][dev]") {
  Project project;
  const std::string folder = fs::path(project.config()).parent_path();
  std::ofstream(project.config()) << R"({"version": 1, "flows": [{"slug": "shellV1",
    "worker": {"command": ["pgflow-worker", "flow.json"]}, "steps": {"work": {}}}]})";
  std::ofstream(folder + "/flow.json") << R"({"pgflow": 1, "slug": "shellV1", "queueMode": "step",
    "steps": [{"slug": "work", "handlers": {"command": ["cat"]}}]})";
  Process dev(project.dev({"--ephemeral"}));
  CHECK(dev.wait(90s) == 65);
  // The command is whole: it can be run by hand.
  CHECK(contains(dev.err(), "pgflow-worker flow.json --pgflow-describe shellV1 ended with"));
  CHECK(contains(dev.err(), "flow.json:2:32: steps[0].handlers: is not a known key"));
  CHECK(contains(dev.err(), "hint: Did you mean \"handler\"?"));
}

TEST_CASE("without PostgreSQL's programs dev says what to install", "[cli][dev]") {
  Project project;
  Command command = project.dev();
  command.environment.emplace_back("PGFLOW_PG_BIN", "/nonexistent");
  Process dev(command);
  CHECK(dev.wait(30s) == 69);
  CHECK(contains(dev.err(), "error: no PostgreSQL server in /nonexistent"));
  CHECK(contains(dev.err(), "hint: "));
}
