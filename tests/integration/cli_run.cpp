// Starting runs and waiting for them.
#include <unistd.h>

#include <array>
#include <fstream>

#include "cli_support.hpp"
#include "supervisor/views.hpp"

using namespace pgflow;
using namespace pgflow::cli;
using namespace pgflow::test;

namespace {

std::string file_with(const TemporaryFolder& folder, const std::string& text) {
  std::ofstream(folder.path() + "/input") << text;
  return "@" + folder.path() + "/input";
}

}  // namespace

TEST_CASE("run start prints the run's id and nothing else on stdout", "[cli][run]") {
  FlowDatabase database;
  const std::string run = database.start(R"({"id": 1})");
  CHECK(
      database->value("select input::text from pgflow.runs where run_id = '" + run + "'") ==
      R"({"id": 1})"
  );
}

TEST_CASE("input comes from a file or from stdin", "[cli][run]") {
  FlowDatabase database;
  TemporaryFolder folder;
  CHECK(
      database.ask({"run", "start", "communityThreads", "--input", file_with(folder, "[1, 2]\n")})
          .exit_code == 0
  );
  CHECK(database->value("select input::text from pgflow.runs") == "[1, 2]");
  std::array<int, 2> ends{};
  REQUIRE(pipe(ends.data()) == 0);
  Command command =
      pgflow_command({"run", "start", "communityThreads", "--input", "-", "-d", database.url()});
  command.descriptors = {{ends[0], 0}};
  REQUIRE(write(ends[1], "\"piped\"", 7) == 7);
  close(ends[1]);
  Process process(command);
  CHECK(process.wait(20s) == 0);
  close(ends[0]);
  CHECK(database->value("select count(*) from pgflow.runs where input = '\"piped\"'") == "1");
}

TEST_CASE("run start --each-line starts one run for each line, in order", "[cli][run]") {
  FlowDatabase database;
  TemporaryFolder folder;
  std::string lines;
  for (int i = 1; i <= 1201; ++i)
    lines += "{\"id\": " + std::to_string(i) + "}\n" + (i == 7 ? "\n" : "");
  const Ended ended = database.ask(
      {"run", "start", "communityThreads", "--each-line", "--input", file_with(folder, lines)}
  );
  REQUIRE(ended.exit_code == 0);
  CHECK(database->value("select count(distinct input->>'id') from pgflow.runs") == "1201");
  CHECK(
      database->value(
          "select input->>'id' from pgflow.runs where run_id = '" + ended.out.substr(0, 36) + "'"
      ) == "1"
  );
}

TEST_CASE(
    "input that is not JSON is 65 with its line and column, and starts nothing", "[cli][run]"
) {
  FlowDatabase database;
  TemporaryFolder folder;
  const Ended inline_text =
      database.ask({"run", "start", "communityThreads", "--input", "{\"id\":1"});
  CHECK(inline_text.exit_code == 65);
  CHECK(contains(inline_text.err, "line 1, column 8"));
  CHECK(contains(inline_text.err, "hint: nothing was started"));
  const std::string file = file_with(folder, "{\"id\":1}\n\n{\"id\":}\n");
  const Ended lines =
      database.ask({"run", "start", "communityThreads", "--each-line", "--input", file});
  CHECK(lines.exit_code == 65);
  CHECK(contains(lines.err, file.substr(1) + ":3:7:"));
  CHECK(
      database.ask({"run", "start", "communityThreads", "--input", R"({"a":"\u0000"})"})
          .exit_code == 65
  );
  CHECK(
      database
          .ask(
              {"run", "start", "communityThreads", "--each-line", "--input", file_with(folder, "\n")
              }
          )
          .exit_code == 65
  );
  CHECK(
      database.ask({"run", "start", "communityThreads", "--input", "@/nonexistent"}).exit_code == 66
  );
  CHECK(database->value("select count(*) from pgflow.runs") == "0");
}

TEST_CASE("an unknown flow is 66 with a guess", "[cli][run]") {
  FlowDatabase database;
  const Ended ended = database.ask({"run", "start", "comunityThreads"});
  CHECK(ended.exit_code == 66);
  CHECK(contains(ended.err, "Did you mean \"communityThreads\"?"));
}

TEST_CASE(
    "run start --wait ends with 0 when all runs completed and with 1 when one failed", "[cli][run]"
) {
  FlowDatabase database;
  TemporaryFolder folder;
  const std::string input = file_with(folder, "{\"id\":1}\n{\"id\":2}\n");
  Process waiting(pgflow_command(
      {"run",
       "start",
       "communityThreads",
       "--each-line",
       "--input",
       input,
       "--wait",
       "-o",
       "json",
       "-d",
       database.url()}
  ));
  eventually("both runs started", 20s, [&] {
    return database->value("select count(*) from pgflow.runs") == "2";
  });
  database.complete("classify", R"({"route":"other"})");
  CHECK(waiting.wait(20s) == 0);
  const auto view = from_json<RunStatesView>(waiting.out());
  CHECK(view.counts.completed == 2);
  CHECK(view.runs.at(0).status == "completed");
  CHECK(contains(waiting.err(), "2/2 runs ended"));

  Process failing(
      pgflow_command({"run", "start", "communityThreads", "--wait", "-d", database.url()})
  );
  eventually("the run started", 20s, [&] {
    return database->value("select count(*) from pgflow.runs where status = 'started'") == "1";
  });
  database.fail("classify", "no");
  CHECK(failing.wait(20s) == 1);
  CHECK(contains(failing.out(), "  failed\n"));
}

TEST_CASE("waiting has an end: 124", "[cli][run]") {
  FlowDatabase database;
  const std::string run = database.start("{}");
  const Ended late = database.ask({"run", "wait", run, "--timeout", "200ms"});
  CHECK(late.exit_code == 124);
  CHECK(contains(late.out, run + "  started\n"));
  database.complete("classify", R"({"route":"other"})");
  CHECK(database.ask({"run", "wait", run}).exit_code == 0);
  CHECK(database.ask({"run", "wait", "ffffffff"}).exit_code == 66);
}
