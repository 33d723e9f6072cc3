// The flow file: what it becomes, and everything that it may not say.
#include "worker/flow_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>

#include "json/value.hpp"
#include "support/catch.hpp"
#include "support/eventually.hpp"
#include "support/process.hpp"

using namespace pgflow;
using namespace pgflow::worker;

namespace {

class FlowFile {
 public:
  explicit FlowFile(const std::string& text) { std::ofstream(path()) << text; }

  std::string path() const { return folder_.path() + "/flow.json"; }
  detail::ProgramFlow read() const { return read_flow_file(path()); }

  // "line:column: path: reason | hint", a line a problem.
  std::string problems() const {
    try {
      read();
    } catch (const FlowFileError& error) {
      CHECK(error.error().kind == "flow_file");
      std::string text = error.error().message + " | " + error.error().hint;
      for (std::size_t at = 0; (at = text.find(path() + ":", at)) != std::string::npos;) {
        text.erase(at, path().size() + 1);
      }
      return text;
    }
    return "none";
  }

 private:
  test::TemporaryFolder folder_;
};

// A file with these steps, from line 2 on.
std::string with_steps(const std::string& steps, const std::string& more = "") {
  return R"({"pgflow": 1, "slug": "shellV1", )" + more + "\"steps\": [\n" + steps + "\n]}";
}
std::string step_of(const std::string& slug, const std::string& more = "") {
  return R"({"slug": ")" + slug + "\"" + (more.empty() ? "" : ", " + more) +
         R"(, "handler": {"command": ["cat"]}})";
}
std::string handler(const std::string& members) {
  return R"({"slug": "a", "handler": {"command": ["cat"], )" + members + "}}";
}
std::string problems_of(const std::string& steps) {
  return FlowFile(with_steps(steps)).problems();
}

}  // namespace

TEST_CASE("a flow file becomes the definition that a compiled flow becomes", "[flow_file]") {
  const FlowFile file(R"({
    // comments, and a trailing comma
    "pgflow": 1, "slug": "communityThreadsV1", "queueMode": "step", "maxAttempts": 3, "timeout": 60,
    "inputSchema": {"type": "object"},
    "steps": [
      {"slug": "classify", "maxAttempts": 5, "handler": {
         "command": ["cat", "-"], "mode": "persistent", "grace": "2s", "heartbeat": "30s"}},
      {"slug": "deliver", "dependsOn": ["classify"], "if": {"classify": {"route": "help"}},
         "whenUnmet": "skip-cascade", "whenExhausted": "skip", "startDelay": 5,
         "outputSchema": {"type": "object"}, "handler": {"command": ["cat"]}},
      {"slug": "files", "type": "array", "handler": {"command": ["cat"]}},
      {"slug": "index", "type": "map", "array": "files", "handler": {"command": ["cat"], "output": "none"}},
    ]
  })");
  const detail::ProgramFlow read = file.read();
  const FlowDefinition& flow = *read.definition;
  CHECK(flow.slug == "communityThreadsV1");
  CHECK(flow.options.max_attempts == 3);
  REQUIRE(read.routes);
  CHECK(read.routes->at(1).queue_name == "communitythreadsv1__deliver");
  CHECK(
      flow_shape(flow) ==
      R"({"steps":[)"
      R"({"slug":"classify","stepType":"single","dependencies":[],"whenUnmet":"skip","whenExhausted":"fail","requiredInputPattern":{"defined":false},"forbiddenInputPattern":{"defined":false},"options":{"maxAttempts":5}},)"
      R"({"slug":"deliver","stepType":"single","dependencies":["classify"],"whenUnmet":"skip-cascade","whenExhausted":"skip","requiredInputPattern":{"defined":true,"value":{"classify":{"route":"help"}}},"forbiddenInputPattern":{"defined":false},"options":{"startDelay":5}},)"
      R"({"slug":"files","stepType":"single","dependencies":[],"whenUnmet":"skip","whenExhausted":"fail","requiredInputPattern":{"defined":false},"forbiddenInputPattern":{"defined":false}},)"
      R"({"slug":"index","stepType":"map","dependencies":["files"],"whenUnmet":"skip","whenExhausted":"fail","requiredInputPattern":{"defined":false},"forbiddenInputPattern":{"defined":false}}],)"
      R"("options":{"maxAttempts":3,"timeout":60}})"
  );
  const auto described = json::parse(manifest(flow, QueueMode::step));
  REQUIRE(described);
  CHECK(described->find("inputSchema")->find("type")->text == "object");
  const auto& steps = described->find("steps")->items;
  CHECK(steps[0].find("handler")->find("kind")->text == "command");
  CHECK(steps[0].find("handler")->find("mode")->text == "persistent");
  CHECK(steps[1].find("handler")->find("mode")->text == "process-per-task");
  CHECK(steps[1].find("outputSchema")->find("type")->text == "object");
  CHECK(flow.steps[0]->stop_grace == std::chrono::seconds(2));
}

TEST_CASE("a flow file without a queue mode has one queue", "[flow_file]") {
  CHECK_FALSE(FlowFile(with_steps(step_of("a"))).read().routes);
}

TEST_CASE("an unknown key is told with a suggestion, and all problems at once", "[flow_file]") {
  CHECK(
      problems_of(step_of("a", R"("dependOn": [])")) ==
      "2:15: steps[0].dependOn: is not a known key | Did you mean \"dependsOn\"?"
  );
  CHECK(
      FlowFile("{\"pgflow\": 2,\n\"slug\": 7, \"steps\": {}}").problems() ==
      "1:12: pgflow: must be 1, got 2 | \"pgflow\": 1\n"
      "error: 2:9: slug: must be a text that is not empty, got 7\n"
      "hint: \"slug\": \"communityThreadsV1\"\n"
      "error: 2:21: steps: must be a list, got an object"
  );
  CHECK(problems_of(step_of("a", R"("x-note": 1)")) == "none");
}

TEST_CASE("a value of a wrong kind or size is told with its place", "[flow_file]") {
  const auto [steps, problem] = GENERATE(table<std::string, std::string>({
      {step_of("a", R"("timeout": 2)"),
       "steps[0].timeout: must be an integer from 3 to 2147483647, got 2"},
      {step_of("a", R"("maxAttempts": 0)"), "steps[0].maxAttempts: must be an integer from 1"},
      {step_of("a", R"("type": "mapp")"), "steps[0].type: must be one of single, array, map"},
      {step_of("a", R"("slug": "b")"), "steps[0].slug: is given twice"},
      {R"({"slug": "a"})", "steps[0].handler: is missing"},
      {R"({"slug": "a", "handler": {"command": []}})",
       "handler.command: must be a list with at least one"},
      {R"({"slug": "a", "handler": {"command": "cat"}})", "handler.command: must be a list"},
      {handler(R"("grace": 5)"), "handler.grace: must be a duration from 0s to 20s, got 5"},
      {handler(R"("grace": "30s")"), "handler.grace: must be a duration from 0s to 20s"},
      {handler(R"("env": {"A": 1})"), "env.A: must be a text or {\"from_env\": NAME}"},
      {handler(R"("env": {"A=B": "1"})"), "env: has a name that no environment variable can have"},
      {handler(R"("env": {"PGFLOW_STEP": "1"})"), "env.PGFLOW_STEP: is set by the worker"},
      {handler(R"("cwd": "nowhere")"), "handler.cwd: is no folder, got \"nowhere\""},
      {handler(R"("heartbeat": "5s")"), "heartbeat: is for persistent handlers"},
      {handler(R"("mode": "persistent", "output": "none")"),
       "output: is for process-per-task handlers"},
  }));
  CAPTURE(steps);
  CHECK_THAT(problems_of(steps), Catch::Contains(problem));
}

TEST_CASE("a step stands behind the ones that it depends on", "[flow_file]") {
  CHECK(
      problems_of(step_of("a", R"("dependsOn": ["b"])") + ",\n" + step_of("b")) ==
      "2:29: steps[0].dependsOn[0]: names no earlier step, got \"b\" | It is the first step. A "
      "step "
      "stands behind those that it depends on."
  );
  CHECK(
      problems_of(step_of("classify") + ",\n" + step_of("b", R"("dependsOn": ["clasify"])")) ==
      "3:29: steps[1].dependsOn[0]: names no earlier step, got \"clasify\" | Did you mean "
      "\"classify\"?"
  );
  CHECK_THAT(
      problems_of(step_of("a") + ",\n" + step_of("b", R"("dependsOn": ["a", "a"])")),
      Catch::Contains("names the same step twice")
  );
}

TEST_CASE("a map walks an array", "[flow_file]") {
  CHECK_THAT(
      problems_of(step_of("a") + ",\n" + step_of("b", R"("type": "map", "array": "a")")),
      Catch::Contains("needs a step whose output is an array") &&
          Catch::Contains("Give \"a\" the type \"array\"")
  );
  CHECK_THAT(
      problems_of(step_of("a", R"("type": "map", "dependsOn": ["a"])")),
      Catch::Contains("dependsOn: is not for map steps")
  );
  CHECK_THAT(problems_of(step_of("a", R"("array": "a")")), Catch::Contains("is for map steps"));
  CHECK(problems_of(step_of("a", R"("type": "map")")) == "none");
}

TEST_CASE("a dependent step's condition is about its dependencies", "[flow_file]") {
  const auto with_condition = [](const std::string& condition) {
    return problems_of(
        step_of("first") + ",\n" + step_of("b", R"("dependsOn": ["first"], )" + condition)
    );
  };
  CHECK(with_condition(R"("if": {"first": 1})") == "none");
  CHECK_THAT(
      with_condition(R"("if": {"frist": 1})"),
      Catch::Contains(
          "steps[1].if.frist: is no step that this one depends on | Did you mean \"first\"?"
      )
  );
  CHECK_THAT(with_condition(R"("ifNot": 7)"), Catch::Contains("is about the outputs"));
  CHECK_THAT(
      with_condition(R"("whenUnmet": "fail")"), Catch::Contains("needs a condition beside it")
  );
  CHECK(problems_of(step_of("a", R"("if": 7)")) == "none");
}

TEST_CASE("every name that is no slug, or is there twice, is told with its place", "[flow_file]") {
  CHECK(
      FlowFile(
          R"({"pgflow": 1, "slug": "a__b", "steps": [
)" + step_of("run") +
          ",\n" + step_of("fine") + ",\n" + step_of("Fine") + "]}"
      )
          .problems() ==
      "1:23: slug: is no slug, got \"a__b\" | \"__\" is reserved for generated queue names.\n"
      "error: 2:10: steps[0].slug: is no slug, got \"run\"\n"
      "hint: The slug \"run\" is reserved.\n"
      "error: 4:10: steps[2].slug: names a step twice, got \"Fine\"\n"
      "hint: Slugs of one flow differ in more than case. Rename one."
  );
}

TEST_CASE("queue names fail as in a compiled flow", "[flow_file]") {
  CHECK_THROWS_AS(
      FlowFile(with_steps("", R"("queueMode": "step", )")).read(), EmptyStepQueuedFlowError
  );
  const std::string long_slug(45, 's');
  CHECK_THROWS_AS(
      FlowFile(
          R"({"pgflow": 1, "slug": ")" + long_slug + R"(", "queueMode": "step", "steps": [)" +
          step_of("a") + "]}"
      )
          .read(),
      FlowQueueNameError
  );
}

TEST_CASE("a program that is not there is told where it was looked for", "[flow_file]") {
  const auto with_program = [](const std::string& program) {
    return problems_of(R"({"slug": "a", "handler": {"command": [")" + program + "\"]}}");
  };
  CHECK_THAT(
      with_program("./deliver.sh"),
      Catch::Contains(
          "handler.command[0]: is no program, got \"./deliver.sh\" | It was looked for at"
      )
  );
  CHECK_THAT(
      with_program("no-such-program"),
      Catch::Contains(
          "It was looked for in PATH; write \"./no-such-program\" for a file beside flow.json."
      )
  );
}

TEST_CASE("what is no JSON is told with its place", "[flow_file]") {
  CHECK_THAT(FlowFile("{\"pgflow\": 1,\n oops}").problems(), Catch::Contains("2:2: "));
  CHECK_THAT(FlowFile("[]").problems(), Catch::Contains("must be an object"));
  CHECK_THROWS_AS(read_flow_file("/no/such/flow.json"), FlowFileError);
}

TEST_CASE("config/flow.schema.json is the schema of the rows", "[flow_file][golden]") {
  const std::string schema = settings::json_schema(flow_file_format());
  const std::string file = PGFLOW_SOURCE_DIR "/config/flow.schema.json";
  const char* golden = std::getenv("PGFLOW_GOLDEN");
  if (golden != nullptr && std::string(golden) == "write") std::ofstream(file) << schema;
  CHECK(test::read_file(file) == schema);
  CHECK(json::parse(schema));
  for (const settings::Key& key : flow_file_format().keys) CHECK_FALSE(key.doc.empty());
}

TEST_CASE("pgflow-worker is a worker program whose flow is its first argument", "[flow_file]") {
  const auto ran = [](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), PGFLOW_BIN_DIR "/pgflow-worker");
    test::Process process({.arguments = std::move(arguments)});
    const auto code = process.wait(std::chrono::seconds(20));
    REQUIRE(code);
    return std::to_string(*code) + " " + process.out() + process.err();
  };
  const FlowFile file(with_steps(step_of("a")));
  CHECK_THAT(
      ran({file.path(), "--pgflow-describe"}),
      Catch::StartsWith("0 {\"pgflowManifest\":1,\"flowSlug\":\"shellV1\"")
  );
  CHECK_THAT(
      ran({"--help"}),
      Catch::StartsWith("0 pgflow-worker FILE") && Catch::Contains("--pgflow-invoke")
  );
  CHECK_THAT(ran({}), Catch::StartsWith("64 error: The first argument must be a flow file."));
  CHECK_THAT(ran({"--pgflow-describe"}), Catch::StartsWith("64 "));
  CHECK_THAT(
      ran({"/no/such/flow.json", "--pgflow-describe"}), Catch::StartsWith("65 error: The flow file")
  );
  const FlowFile bad(with_steps(step_of("a", R"("typ": "map")")));
  CHECK_THAT(
      ran({bad.path(), "--pgflow-worker"}),
      Catch::StartsWith("65 error: ") &&
          Catch::Contains("is not a known key\nhint: Did you mean \"type\"?")
  );
}

TEST_CASE("Ctrl-C ends a command that runs by hand", "[flow_file]") {
  const FlowFile file(
      with_steps(R"({"slug": "a", "handler": {"command": ["sh", "-c", "echo up >&2; sleep 300"]}})")
  );
  std::ofstream(file.path() + ".input") << "{}";
  const int input = open((file.path() + ".input").c_str(), O_RDONLY | O_CLOEXEC);
  test::Process process(
      {.arguments = {PGFLOW_BIN_DIR "/pgflow-worker", file.path(), "--pgflow-invoke", "a"},
       .descriptors = {{input, 0}}}
  );
  close(input);
  test::eventually("it runs", std::chrono::seconds(10), [&] { return !process.err().empty(); });
  process.signal(SIGINT);
  CHECK(process.wait(std::chrono::seconds(10)) == 70);
}
