#include "settings/load.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "support/catch.hpp"
#include "support/process.hpp"

using namespace pgflow;
using namespace pgflow::settings;

namespace {

// A folder with a config file and a worker program beside it; no database variable around.
class Project {
 public:
  explicit Project(const std::string& config) {
    unsetenv("DATABASE_URL");
    unsetenv("PGFLOW_TEST_UNSET");
    setenv("PGFLOW_TEST_SET", "secret", 1);
    write("worker", "#!/bin/sh\n");
    std::filesystem::permissions(path("worker"), std::filesystem::perms::owner_all);
    write("notes.txt", "no program");
    write("pgflow.json", config);
  }

  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }

  auto load(const Overrides& overrides = {}) const {
    return settings::load(path("pgflow.json"), overrides);
  }

  // "line:column: path: reason | hint", a line a problem.
  std::string problems() const {
    const auto result = load();
    if (result) return "none";
    CHECK(result.error().exit_code == 78);
    std::string text;
    for (const auto& problem : result.error().problems) {
      std::string line = problem.location_and_reason();
      const auto prefix = path("pgflow.json") + ":";
      REQUIRE(line.starts_with(prefix));
      text += line.substr(prefix.size()) + " | " + problem.hint + "\n";
    }
    return text;
  }

 private:
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name)) << text;
  }

  test::TemporaryFolder folder_;
};

// A valid file but for `flow` and `rest`, which stand in lines of their own.
std::string config(const std::string& flow, const std::string& rest = "") {
  return "{\"version\": 1,\n" + rest +
         "\n\"database\": {\"url\": \"postgresql://h/d\", \"max_connections\": 20},\n\"flows\": "
         "[\n" +
         flow + "\n]}";
}

const std::string kGoodFlow =
    R"({"slug": "f", "worker": {"command": ["./worker"]}, "steps": {"a": {}}})";

}  // namespace

TEST_CASE("the smallest file gets every default", "[settings]") {
  const Project project(
      R"({"version": 1, "flows": [{"slug": "f", "worker": {"command": ["./worker", "-v"]}, )"
      R"("steps": {"a": {"processes": 2, "max_concurrent": 4}, "b": {}}, "elsewhere": ["c"]}]})"
  );
  const auto result = project.load({.database_url = "postgresql://h/d"});
  REQUIRE(result);
  const Settings& settings = *result;
  CHECK(settings.supervisor.state_dir == project.path(".pgflow"));
  CHECK(settings.supervisor.shutdown_deadline == Milliseconds(25'000));
  CHECK(settings.supervisor.kill_margin == Milliseconds(5'000));
  CHECK(settings.supervisor.max_spawns_per_second == 10);
  CHECK(settings.supervisor.max_parallel_starts >= 1);
  CHECK_FALSE(settings.supervisor.name.empty());
  CHECK(settings.database.url == "postgresql://h/d");
  CHECK(settings.database.url_source == "--database-url");
  CHECK(settings.database.max_connections == 80);
  CHECK(settings.defaults.start_timeout == Milliseconds(30'000));
  CHECK(settings.defaults.watchdog == Milliseconds(10'000));
  CHECK(settings.defaults.restart.base == Milliseconds(250));
  CHECK(settings.defaults.restart.max == Milliseconds(30'000));
  REQUIRE(settings.flows.size() == 1);
  const FlowSettings& flow = settings.flows[0];
  CHECK(flow.queue_mode == QueueMode::step);
  CHECK(flow.worker.command == std::vector<std::string>{project.path("worker"), "-v"});
  CHECK(flow.worker.cwd == std::filesystem::path(project.path("")).parent_path());
  REQUIRE(flow.steps.size() == 2);
  CHECK(flow.steps[0].slug == "a");
  CHECK(flow.steps[0].processes == 2);
  CHECK(flow.steps[0].max_concurrent == 4);
  CHECK(flow.steps[1].processes == 1);
  CHECK(flow.steps[1].max_concurrent == 10);
  REQUIRE(flow.elsewhere.size() == 1);
  CHECK(flow.elsewhere[0].first == "c");
}

TEST_CASE("comments, trailing commas and x- keys are allowed", "[settings]") {
  const Project project(config(kGoodFlow + ",", "// why\n\"x-team\": {\"any\": [\"thing\"]},"));
  CHECK(project.problems() == "none");
}

TEST_CASE("a worker's variables are texts or come from the environment", "[settings]") {
  const Project project(config(
      R"({"slug": "f", "worker": {"command": ["sh"], "env": {"A": "1", "B": {"from_env": "PGFLOW_TEST_SET"}}},)"
      R"( "steps": {"a": {}}})"
  ));
  const auto settings = project.load();
  REQUIRE(settings);
  const auto& worker = settings->flows[0].worker;
  CHECK(
      worker.env == std::vector<std::pair<std::string, std::string>>{{"A", "1"}, {"B", "secret"}}
  );
  CHECK(worker.command[0].ends_with("/bin/sh"));
}

TEST_CASE("a flag wins over the environment, the environment over the file", "[settings]") {
  const Project project(config(kGoodFlow));
  CHECK(project.load()->database.url == "postgresql://h/d");
  CHECK(project.load()->database.url_source == project.path("pgflow.json"));
  setenv("DATABASE_URL", "postgresql://e/d", 1);
  CHECK(project.load()->database.url == "postgresql://e/d");
  CHECK(project.load()->database.url_source == "DATABASE_URL");
  CHECK(project.load({.database_url = "postgresql://f/d"})->database.url == "postgresql://f/d");
  unsetenv("DATABASE_URL");
}

TEST_CASE("an embedded database needs no URL", "[settings]") {
  const Project project(
      R"({"version": 1, "database": {"embedded": true}, "flows": [)" + kGoodFlow + "]}"
  );
  const auto settings = project.load();
  REQUIRE(settings);
  CHECK(settings->database.url.empty());
}

TEST_CASE("a command that only looks at the database asks for nothing else", "[settings]") {
  // A worker that a supervisor would refuse: its program is missing.
  const std::string flow =
      R"({"slug": "f", "worker": {"command": ["./gone"]}, "steps": {"a": {}}})";
  const Project named(config(flow));
  const auto database = settings::load_database(named.path("pgflow.json"));
  REQUIRE(database);
  CHECK(database->url == "postgresql://h/d");

  const Project unnamed(R"({"version": 1, "flows": [)" + flow + "]}");
  const auto none = settings::load_database(unnamed.path("pgflow.json"));
  REQUIRE(none);
  CHECK(none->url.empty());
}

TEST_CASE("a wrong value is named with its place, its reason and a right one", "[settings]") {
  const auto [rest, problems] = GENERATE(table<std::string, std::string>({
      {R"("supervisr": {},)", "2:1: supervisr: is not a known key | Did you mean \"supervisor\"?\n"
      },
      {R"("qqq": {},)",
       "2:1: qqq: is not a known key | Known here: $schema, version, supervisor, database, "
       "defaults, "
       "flows.\n"},
      {R"("supervisor": [],)", "2:15: supervisor: must be an object, got an empty list | \n"},
      {R"("supervisor": {"name": 7},)",
       "2:24: supervisor.name: must be a text that is not empty, got 7 | \"name\": "
       "\"community-a\"\n"},
      {R"("supervisor": {"shutdown_deadline": 25},)",
       "2:37: supervisor.shutdown_deadline: must be a duration from 0s to 1h, got 25 | "
       "\"shutdown_deadline\": \"25s\"\n"},
      {R"("supervisor": {"shutdown_deadline": "25 s"},)",
       "2:37: supervisor.shutdown_deadline: must be a duration from 0s to 1h, got \"25 s\" | "
       "\"shutdown_deadline\": \"25s\"\n"},
      {R"("supervisor": {"kill_margin": "2h"},)",
       "2:31: supervisor.kill_margin: must be a duration from 0s to 1h, got \"2h\" | "
       "\"kill_margin\": \"5s\"\n"},
      {R"("supervisor": {"max_spawns_per_second": 0},)",
       "2:41: supervisor.max_spawns_per_second: must be an integer from 1 to 1000, got 0 | "
       "\"max_spawns_per_second\": 10\n"},
      {R"("supervisor": {"log": {"level": "loud"}},)",
       "2:33: supervisor.log.level: must be one of debug, info, warn, error, got \"loud\" | "
       "\"level\": \"info\"\n"},
      {R"("supervisor": {"name": "a", "name": "b"},)",
       "2:29: supervisor.name: is given twice, first in line 2 | Remove one of the two.\n"},
      {R"("defaults": {"restart": {"factor": 0.5}},)",
       "2:36: defaults.restart.factor: must be a number from 1 to 100, got 0.5 | \"factor\": 2\n"},
      {R"("defaults": {"restart": {"base": "10s", "max": "1s"}},)",
       "2:48: defaults.restart.max: must not be less than base (10s), got \"1s\" | \n"},
      {R"("defaults": {"watchdog": "1s"},)",
       "2:26: defaults.watchdog: must be a duration from 2s to 1h, got \"1s\" | \"watchdog\": "
       "\"10s\"\n"},
  }));
  CAPTURE(rest);
  CHECK(Project(config(kGoodFlow, rest)).problems() == problems);
}

TEST_CASE("a wrong flow is named with its place, its reason and a way out", "[settings]") {
  const auto [flow, problems] = GENERATE(table<std::string, std::string>({
      {"7", "5:1: flows[0]: must be an object, got 7 | \n"},
      {"{}",
       "5:1: flows[0].slug: is missing | \"slug\": \"communityThreadsV1\"\n"
       "5:1: flows[0].worker: is missing | \"worker\": …\n"
       "5:1: flows[0].steps: is missing | \"steps\": {\"STEP\": {\"processes\": 1, "
       "\"max_concurrent\": "
       "4}}\n"},
      {R"({"slug": "1f", "worker": {"command": ["./worker"]}, "steps": {"a": {}}})",
       "5:10: flows[0].slug: must be a slug: letters, digits and single _, from a letter to a "
       "letter "
       "or digit, at most 128, not \"run\", got \"1f\" | \"slug\": \"communityThreadsV1\"\n"},
      {R"({"slug": "a__b", "worker": {"command": ["./worker"]}, "steps": {"a": {}}})",
       "5:10: flows[0].slug: must be a slug: letters, digits and single _, from a letter to a "
       "letter "
       "or digit, at most 128, not \"run\", got \"a__b\" | \"slug\": \"communityThreadsV1\"\n"},
      {R"({"slug": "f", "worker": {"command": ["./worker"], "env": {"": "1", "A=B": "1"}}, "steps": {"a": {}}})",
       "5:59: flows[0].worker.env: has a name that no environment variable can have, got \"\" | A "
       "name is not empty and holds no \"=\"; the value stands after the colon.\n"
       "5:68: flows[0].worker.env: has a name that no environment variable can have, got \"A=B\" | "
       "A "
       "name is not empty and holds no \"=\"; the value stands after the colon.\n"},
      {R"({"slug": "f", "queue_mode": "both", "worker": {"command": ["./worker"]}, "steps": {"a": {}}})",
       "5:29: flows[0].queue_mode: must be one of step, flow, got \"both\" | \"queue_mode\": "
       "\"step\"\n"},
      {R"({"slug": "f", "worker": {"command": []}, "steps": {"a": {}}})",
       "5:37: flows[0].worker.command: must be a list with at least one element, got an empty list "
       "| "
       "\"command\": [\"bin/community_threads\"]\n"},
      {R"({"slug": "f", "worker": {"command": ["./worker", 1]}, "steps": {"a": {}}})",
       "5:50: flows[0].worker.command[1]: must be a text that is not empty, got 1 | \n"},
      {R"({"slug": "f", "worker": {"command": ["./worker"], "env": {"A": {"from_env": "PGFLOW_TEST_UNSET"}}}, "steps": {"a": {}}})",
       "5:77: flows[0].worker.env.A.from_env: names the environment variable PGFLOW_TEST_UNSET, "
       "which "
       "is not set | export PGFLOW_TEST_UNSET=…\n"},
      {R"({"slug": "f", "worker": {"command": ["./worker"], "env": {"A": 1}}, "steps": {"a": {}}})",
       "5:64: flows[0].worker.env.A: must be a text or {\"from_env\": NAME}, got 1 | For example "
       "{\"from_env\": \"SLACK_TOKEN\"}.\n"},
      {R"({"slug": "f", "worker": {"command": ["no-such-program-anywhere"]}, "steps": {"a": {}}})",
       "5:38: flows[0].worker.command[0]: is no program, got \"no-such-program-anywhere\" | It was "
       "looked for in PATH; write \"./no-such-program-anywhere\" for a file beside pgflow.json.\n"},
      {R"({"slug": "f", "worker": {"command": ["./worker"]}, "steps": {"a": {"processes": "four"}}})",
       "5:81: flows[0].steps.a.processes: must be an integer from 0 to 1000, got \"four\" | "
       "\"processes\": 1\n"},
      {R"({"slug": "f", "worker": {"command": ["./worker"]}, "steps": {"a": {"max_concurrent": 1.5}}})",
       "5:86: flows[0].steps.a.max_concurrent: must be an integer from 1 to 10000, got 1.5 | "
       "\"max_concurrent\": 4\n"},
      {R"({"slug": "f", "worker": {"command": ["./worker"]}, "steps": {"a": {"max_concurent": 1}}})",
       "5:68: flows[0].steps.a.max_concurent: is not a known key | Did you mean "
       "\"max_concurrent\"?\n"},
      {R"({"slug": "f", "worker": {"command": ["./worker"]}, "steps": {"a": {}, "A": {}}})",
       "5:71: flows[0].steps.A: is given already in line 5 | A step stands once, under steps or "
       "under "
       "elsewhere; slugs differ in more than upper and lower case.\n"},
      {R"({"slug": "f", "worker": {"command": ["./worker"]}, "steps": {"a": {}}, "elsewhere": ["a"]})",
       "5:86: flows[0].elsewhere[0]: is given already in line 5 | A step stands once, under steps "
       "or "
       "under elsewhere; slugs differ in more than upper and lower case.\n"},
      {R"({"slug": "f", "worker": {"command": ["./worker"]}, "steps": {"a": {}}, "processes": 2})",
       "5:85: flows[0].processes: belongs to queue mode flow | Write it for each step: \"steps\": "
       "{\"STEP\": {…}}.\n"},
      {R"({"slug": "f", "queue_mode": "flow", "worker": {"command": ["./worker"]}, "steps": {"a": {}}})",
       "5:83: flows[0].steps: belongs to queue mode step | A flow in queue mode flow has one pool: "
       "write "
       "processes and max_concurrent beside slug.\n"},
      {R"({"slug": "f", "worker": {"command": ["./worker"]}, "steps": {"a": {"processes": 9}}})",
       "3:60: database.max_connections: is 20, but 9 processes need 21 connections (2 each and 3 "
       "for the "
       "supervisor) | Lower \"processes\", or set \"max_connections\": 21 if the server allows "
       "that "
       "many.\n"},
      {kGoodFlow + ",\n" +
           R"({"slug": "F", "worker": {"command": ["./worker"]}, "steps": {"a": {}}})",
       "6:10: flows[1].slug: names a flow that is given already in line 5, got \"F\" | Flow slugs "
       "differ "
       "in more than upper and lower case.\n"},
  }));
  CAPTURE(flow);
  CHECK(Project(config(flow)).problems() == problems);
}

TEST_CASE("a program that cannot be run is named with the place it was looked for", "[settings]") {
  const auto program = GENERATE("./missing", "./notes.txt", ".//");
  const Project project(config(
      R"({"slug": "f", "worker": {"command": [")" + std::string(program) +
      R"("]}, "steps": {"a": {}}})"
  ));
  CAPTURE(program);
  const std::string problems = project.problems();
  CHECK(problems.starts_with("5:38: flows[0].worker.command[0]: is "));
  const std::string name = program == std::string("./missing") ? project.path("missing")
                           : program == std::string("./notes.txt")
                               ? project.path("notes.txt")
                               : std::filesystem::path(project.path("")).parent_path().string();
  CHECK(problems.find(name) != std::string::npos);
}

TEST_CASE("all problems are told at once, in the order of the file", "[settings]") {
  const Project project(
      "{\n"
      "  \"version\": 2,\n"
      "  \"supervisor\": {\"nmae\": \"x\"},\n"
      "  \"flows\": []\n"
      "}"
  );
  CHECK(
      project.problems() ==
      "1:1: database.url: is missing | Set DATABASE_URL, pass --database-url, or write "
      "\"database\": "
      "{\"url\": \"postgresql://user@host/database\"}; `pgflow dev` needs none of them.\n"
      "2:14: version: must be 1, got 2 | \"version\": 1\n"
      "3:18: supervisor.nmae: is not a known key | Did you mean \"name\"?\n"
      "4:12: flows: must be a list with at least one element, got an empty list | \n"
  );
}

TEST_CASE("a database that is named by an unset variable or twice is a problem", "[settings]") {
  const auto [database, problems] = GENERATE(table<std::string, std::string>({
      {R"({"url_env": "PGFLOW_TEST_UNSET"})",
       "1:40: database.url_env: names the environment variable PGFLOW_TEST_UNSET, which is not set "
       "| "
       "export PGFLOW_TEST_UNSET=postgresql://user@host/database\n"},
      {R"({"url": "x", "embedded": true})",
       "1:36: database.url: cannot stand beside \"embedded\": true | Keep one of the two.\n"},
  }));
  CAPTURE(database);
  const Project project(
      R"({"version": 1, "database": )" + database + ", \"flows\": [" + kGoodFlow + "]}"
  );
  CHECK(project.problems() == problems);
}

TEST_CASE("a syntax error is told with file, line and column", "[settings]") {
  const Project project("{\n  \"version\": 1\n  \"flows\": []\n}");
  const auto result = project.load();
  REQUIRE_FALSE(result);
  CHECK(result.error().exit_code == 78);
  const std::string text = text_of(result.error().problems);
  CAPTURE(text);
  CHECK(text.starts_with("error: " + project.path("pgflow.json") + ":3:3: "));
}

TEST_CASE("a missing file is told with exit code 66", "[settings]") {
  const auto result = load("/no/such/pgflow.json");
  REQUIRE_FALSE(result);
  CHECK(result.error().exit_code == 66);
  CHECK(
      text_of(result.error().problems) ==
      "error: /no/such/pgflow.json: cannot be read: No such file or directory\n"
      "hint: Name a config file with -c FILE; config/pgflow.json is the smallest useful one.\n"
  );
}

TEST_CASE("rubbish never gets through and never crashes", "[settings]") {
  const std::string good = config(kGoodFlow, "\"supervisor\": {\"log\": {\"level\": \"info\"}},");
  REQUIRE(Project(good).problems() == "none");
  // Every prefix is a truncated file.
  for (std::size_t length = 0; length < good.size(); length += 7) {
    CAPTURE(length);
    CHECK_FALSE(Project(good.substr(0, length)).load());
  }
}

TEST_CASE("the config's steps are checked against the program's", "[settings]") {
  const Project project(config(
      R"({"slug": "f", "worker": {"command": ["./worker"]}, "steps": {"clasify": {}}, "elsewhere": ["zzz"]})"
  ));
  const auto settings = project.load();
  REQUIRE(settings);
  const std::vector<std::string> steps{"classify", "deliverSlack"};
  const auto problems = check_steps(*settings, settings->flows[0], QueueMode::step, steps);
  const std::string at = project.path("pgflow.json") + ":5:";
  CHECK(
      text_of(problems) == "warning: " + at +
                               "61: flows[0].steps: lacks the step \"classify\"\n"
                               "hint: \"classify\": {\"processes\": 1}, or \"elsewhere\": "
                               "[\"classify\"] if another supervisor "
                               "serves it.\n"
                               "warning: " +
                               at +
                               "61: flows[0].steps: lacks the step \"deliverSlack\"\n"
                               "hint: \"deliverSlack\": {\"processes\": 1}, or \"elsewhere\": "
                               "[\"deliverSlack\"] if another "
                               "supervisor serves it.\n"
                               "error: " +
                               at +
                               "62: flows[0].steps.clasify: is no step of f, got \"clasify\"\n"
                               "hint: Did you mean \"classify\"?\n"
                               "error: " +
                               at +
                               "92: flows[0].elsewhere[0]: is no step of f, got \"zzz\"\n"
                               "hint: Its steps: classify, deliverSlack.\n"
  );
}

TEST_CASE("the config's queue mode is checked against the program's", "[settings]") {
  const Project project(config(kGoodFlow));
  const auto settings = project.load();
  REQUIRE(settings);
  const auto problems = check_steps(*settings, settings->flows[0], QueueMode::flow, {});
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].reason == "is step, but the worker program's f is in queue mode flow");
}
