// pgflow::main: each role of a worker program, its exit codes and its errors.
#include <string>

#include "json/value.hpp"
#include "support/catch.hpp"
#include "support/process.hpp"

using namespace pgflow;
using namespace std::chrono_literals;

namespace {

struct Ended {
  int code = -1;
  std::string out, err;
};

// Runs the sample program through a shell, which gives it its standard input.
Ended run(const std::string& arguments, const std::string& input = "") {
  const std::string program = PGFLOW_BIN_DIR "/sample_program";
  test::Process process(
      {.arguments = {"/bin/sh", "-c", "printf %s '" + input + "' | " + program + " " + arguments}}
  );
  const auto code = process.wait(30s);
  REQUIRE(code.has_value());
  return {*code, process.out(), process.err()};
}

}  // namespace

TEST_CASE("describe prints one manifest a flow and nothing else", "[worker][program]") {
  const Ended all = run("--pgflow-describe");
  CHECK(all.code == 0);
  CHECK(all.err.empty());
  const std::size_t first = all.out.find('\n');
  REQUIRE(first != std::string::npos);
  const auto manifest = json::parse(all.out.substr(0, first));
  REQUIRE(manifest.has_value());
  CHECK(manifest->find("flowSlug")->text == "threadsV1");
  CHECK(manifest->find("queueMode")->text == "step");
  const auto second = json::parse(all.out.substr(first + 1));
  REQUIRE(second.has_value());
  CHECK(second->find("flowSlug")->text == "plain");
  CHECK(second->find("queueMode")->text == "flow");

  const Ended one = run("--pgflow-describe plain");
  CHECK(one.code == 0);
  CHECK(one.out == all.out.substr(first + 1));
}

TEST_CASE("an unusable definition ends with 65 and prints nothing on stdout", "[worker][program]") {
  test::Process process(
      {.arguments = {PGFLOW_BIN_DIR "/sample_program", "--pgflow-describe"},
       .environment = {{"BREAK", "1"}}}
  );
  CHECK(process.wait(30s) == 65);
  CHECK(process.out().empty());
  CHECK(process.err().starts_with("error: Flow \"threadsV1xxx"));
  CHECK(process.err().find("\ndetail: The shortest required queue") != std::string::npos);
  CHECK(process.err().find("\nhint: Shorten the concrete flow slug") != std::string::npos);
}

TEST_CASE("invoke runs one handler by hand", "[worker][program]") {
  const Ended classified = run("--pgflow-invoke classify --flow threadsV1", R"({"text":"why?"})");
  CHECK(classified.code == 0);
  CHECK(classified.out == "{\"question\":true}\n");
  CHECK(classified.err == "info: classifying length=4\n");

  const Ended delivered =
      run("--pgflow-invoke deliverSlack --flow threadsV1 --flow-input " PGFLOW_SOURCE_DIR
          "/tests/unit/worker/sample_input.json",
          R"({"classify":{"question":false}})");
  CHECK(delivered.err.empty());
  CHECK(delivered.out == "\"#help!hello\"\n");

  const Ended without =
      run("--pgflow-invoke deliverSlack --flow threadsV1", R"({"classify":{"question":false}})");
  CHECK(without.code == 64);
  CHECK(without.err.find("hint: Give it with --flow-input FILE.") != std::string::npos);
}

TEST_CASE("a handler that fails by hand ends with 70, a wrong input with 65", "[worker][program]") {
  const Ended thrown = run("--pgflow-invoke classify --flow threadsV1", R"({"text":"boom"})");
  CHECK(thrown.code == 70);
  CHECK(thrown.out.empty());
  CHECK(thrown.err.find("error: cannot classify that\n") != std::string::npos);
  const Ended unreadable = run("--pgflow-invoke classify --flow threadsV1", R"({"txt":1})");
  CHECK(unreadable.code == 65);
  CHECK(
      unreadable.err ==
      "error: /text: is missing\nhint: stdin takes what the step gets: the flow's input.\n"
  );
  const Ended dependent = run("--pgflow-invoke deliverSlack --flow threadsV1", "{}");
  CHECK(dependent.code == 65);
  CHECK(
      dependent.err.find("the outputs of its dependencies, {\"classify\": …}") != std::string::npos
  );
}

TEST_CASE("a wrong command line ends with 64 and a way out", "[worker][program]") {
  const auto refused = [](const std::string& arguments) {
    CAPTURE(arguments);
    const Ended ended = run(arguments);
    CHECK(ended.code == 64);
    CHECK(ended.out.empty());
    return ended.err;
  };
  CHECK(refused("") == "error: Nothing to do.\nhint: --help lists what this program can do.\n");
  CHECK(
      refused("--pgflow-describ") ==
      "error: Unknown argument \"--pgflow-describ\".\nhint: Did you mean \"--pgflow-describe\"?\n"
  );
  CHECK(refused("--step").starts_with("error: --step needs a value.\n"));
  CHECK(
      refused("--pgflow-worker --max-concurrent four") ==
      "error: --max-concurrent needs a number of at least 1, got \"four\".\n"
  );
  CHECK(refused("--pgflow-describe --pgflow-worker").starts_with("error: These arguments ask"));
  CHECK(
      refused("--step classify") ==
      "error: This program has several flows.\ndetail: Flows: threadsV1, plain.\n"
      "hint: Choose one with --flow.\n"
  );
  CHECK(
      refused("--pgflow-worker --flow threadsV2") ==
      "error: This program has no flow \"threadsV2\".\ndetail: Flows: threadsV1, plain.\n"
      "hint: Did you mean \"threadsV1\"?\n"
  );
  CHECK(
      refused("--flow threadsV1 --step clasify") ==
      "error: Flow \"threadsV1\" has no step \"clasify\".\n"
      "detail: Steps: classify, deliverSlack.\nhint: Did you mean \"classify\"?\n"
  );
  CHECK(
      refused("--flow threadsV1 --pgflow-worker").starts_with("error: Flow \"threadsV1\" uses per")
  );
  CHECK(refused("--flow plain --step twice").find("cannot be selected") != std::string::npos);
  CHECK(
      refused("--flow threadsV1 --pgflow-invoke nope").find("has no step \"nope\"") !=
      std::string::npos
  );
}

TEST_CASE("help tells all arguments", "[worker][program]") {
  const Ended help = run("--help");
  CHECK(help.code == 0);
  for (const char* argument :
       {"--pgflow-describe",
        "--pgflow-worker",
        "--pgflow-invoke",
        "--flow",
        "--step",
        "--max-concurrent",
        "--flow-input"}) {
    CAPTURE(argument);
    CHECK(help.out.find(argument) != std::string::npos);
  }
}
