// A command line that cannot be meant, and a database that cannot be used: told in our shape, with
// a hint.
#include <fstream>

#include "cli_support.hpp"

using namespace pgflow::test;

TEST_CASE("a mistyped command is answered with the one that is meant", "[cli]") {
  const Ended ended = run_pgflow({"statsu"});
  CHECK(ended.exit_code == 64);
  CHECK(ended.out.empty());
  CHECK(contains(ended.err, "error: unknown command \"statsu\"\n"));
  CHECK(contains(ended.err, "hint: Did you mean \"status\"?"));
  CHECK(contains(run_pgflow({"run", "strat"}).err, "Did you mean \"start\"?"));
}

TEST_CASE("every wrong command line ends with 64 and says what would be right", "[cli]") {
  struct Wrong {
    std::vector<std::string> arguments;
    std::string error;
  };
  const std::vector<Wrong> all = {
      {{}, "pgflow needs a command"},
      {{"run"}, "pgflow run needs a command"},
      {{"run", "start"}, "flow is required"},
      {{"run", "show"}, "run is required"},
      {{"coverage", "--wiat"}, "unknown option \"--wiat\""},
      {{"coverage", "--timeout", "2x"}, "\"2x\" is not a duration"},
      {{"status", "-o", "yaml"}, "must be one of text, json, got \"yaml\""},
      {{"status", "one", "two"}, "unexpected argument \"two\""},
      {{"run", "list", "--status", "done"}, "must be one of started, completed, failed"},
      {{"run", "list", "--limit", "0"}, "--limit"},
      {{"-o", "json", "status"}, "unknown option \"-o\" of pgflow"},
      {{"sql", "coverag"}, "no SQL file \"coverag\""},
  };
  for (const Wrong& wrong : all) {
    const Ended ended = run_pgflow(wrong.arguments);
    INFO(ended.err);
    CHECK(ended.exit_code == 64);
    CHECK(ended.out.empty());
    CHECK(contains(ended.err, "error: "));
    CHECK(contains(ended.err, wrong.error));
    CHECK(contains(ended.err, "hint: "));
  }
}

TEST_CASE("without any database the error names the ways to name one", "[cli]") {
  TemporaryFolder empty;
  const Ended ended = run_pgflow({"status", "-c", empty.path() + "/pgflow.json"});
  CHECK(ended.exit_code == 66);
  Command command = pgflow_command({"status"});
  command.arguments.insert(command.arguments.begin() + 1, "--chdir=" + empty.path());
  Process process(command);
  CHECK(process.wait(20s) == 69);
  CHECK(contains(process.err(), "error: which database?"));
  CHECK(contains(process.err(), "DATABASE_URL"));
  CHECK(contains(process.err(), "hint: start `pgflow dev`, or pass --database-url"));
}

TEST_CASE("an unreachable database is exit 69 and tells where its URL came from", "[cli]") {
  for (const char* name : {"DATABASE_URL", "EDGE_WORKER_DB_URL"}) {
    const Ended ended = run_pgflow({"status"}, {{name, "postgresql://nobody@127.0.0.1:1/none"}});
    CHECK(ended.exit_code == 69);
    CHECK(contains(ended.err, "error: Cannot connect to the database nobody@127.0.0.1:1/none."));
    CHECK(contains(ended.err, std::string("The URL comes from ") + name));
  }
}

TEST_CASE(
    "the flag wins over the environment, DATABASE_URL over the older name and PG variables", "[cli]"
) {
  const Variables all{
      {"DATABASE_URL", "postgresql:///one"},
      {"EDGE_WORKER_DB_URL", "postgresql:///two"},
      {"PGDATABASE", "three"}
  };
  CHECK(contains(
      run_pgflow({"db", "url", "-d", "postgresql:///zero"}, all).out, "postgresql:///zero\n"
  ));
  CHECK(contains(run_pgflow({"db", "url"}, all).out, "postgresql:///one\n"));
  CHECK(contains(run_pgflow({"db", "url"}, {all[1], all[2]}).out, "postgresql:///two\n"));
  CHECK(run_pgflow({"db", "url"}, {all[2]}).out == "dbname=three\n");
}

TEST_CASE("a malformed URL is refused without showing its password", "[cli]") {
  const Ended ended = run_pgflow({"status", "-d", "postgresql://app:secret@[::1/x"});
  CHECK(ended.exit_code == 64);
  CHECK(contains(ended.err, "error: "));
  CHECK_FALSE(contains(ended.err, "secret"));
}

TEST_CASE("no colour reaches a pipe, unless it is asked for", "[cli]") {
  CHECK_FALSE(contains(run_pgflow({"statsu"}).err, "\x1b"));
  CHECK(contains(run_pgflow({"statsu"}, {{"CLICOLOR_FORCE", "1"}}).err, "\x1b[31merror:"));
  CHECK_FALSE(
      contains(run_pgflow({"statsu"}, {{"CLICOLOR_FORCE", "1"}, {"NO_COLOR", "1"}}).err, "\x1b")
  );
}

TEST_CASE("config check names every problem with its place, and the exit code tells", "[cli]") {
  TemporaryFolder folder;
  const std::string file = folder.path() + "/pgflow.json";
  CHECK(run_pgflow({"config", "check", file}).exit_code == 66);
  std::ofstream(file) << "{\n  \"version\": 1,\n  \"supervisr\": {},\n  \"flows\": 4\n}\n";
  const Ended text = run_pgflow({"config", "check", file});
  CHECK(text.exit_code == 78);
  CHECK(contains(text.err, file + ":3:3: supervisr"));
  CHECK(contains(text.err, file + ":4:12: flows"));
  const Ended json = run_pgflow({"config", "check", file, "-o", "json"});
  CHECK(json.exit_code == 78);
  CHECK(json.err.empty());
  CHECK(contains(json.out, R"("valid":false)"));
  CHECK(contains(json.out, R"("line":3)"));
}

TEST_CASE("the operator's SQL files are printed as they are shipped", "[cli]") {
  CHECK(
      run_pgflow({"sql", "coverage"}).out ==
      read_file(PGFLOW_SOURCE_DIR "/sql/operator/coverage.sql")
  );
  CHECK(
      run_pgflow({"sql", "prune"}).out ==
      read_file(PGFLOW_SOURCE_DIR "/sql/operator/prune_data_older_than.sql")
  );
}

TEST_CASE("a project of dev names no database, and its config is valid all the same", "[cli]") {
  TemporaryFolder folder;
  const std::string file = folder.path() + "/pgflow.json";
  std::ofstream(file
  ) << R"({"version": 1, "flows": [{"slug": "f", "worker": {"command": ["/bin/true"]}, "steps": {"a": {}}}]})";
  const Ended text = run_pgflow({"config", "check", file});
  INFO(text.err);
  CHECK(text.exit_code == 0);
  CHECK(contains(text.out, "is valid"));
  CHECK(contains(text.out, "names no database"));
}

TEST_CASE("config check finds a database URL that cannot be read, and hides it", "[cli]") {
  TemporaryFolder folder;
  const std::string file = folder.path() + "/pgflow.json";
  std::ofstream(file) << R"({"version": 1, "database": {"url": "postgresql://u:secr@t@host/db"},)"
                      << R"("flows": [{"slug": "f", "worker": {"command": ["/bin/true"]}, )"
                      << R"("steps": {"a": {}}}]})";
  const Ended text = run_pgflow({"config", "check", file});
  CHECK(text.exit_code == 78);
  CHECK(contains(text.err, file + ": database.url: The database URL cannot be read."));
  CHECK(contains(text.err, "hint: Write postgresql://USER@HOST:PORT/DATABASE"));
  CHECK_FALSE(contains(text.err, "secr"));
}
