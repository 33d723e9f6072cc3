// A command started for each task: input, output, exit codes, and what it may leave behind.
#include <fcntl.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "json/value.hpp"
#include "unit/worker/command_harness.hpp"
#include "worker/command_child.hpp"

using namespace pgflow;
using namespace pgflow::test;
using worker::StepOutcome;
using Kind = worker::StepOutcome::Kind;

namespace {

StepOutcome run(const std::string& script, const std::string& input = "{}") {
  return CommandStep(shell(script)).run(input);
}

}  // namespace

TEST_CASE("what a command prints is the output, without the white space around it", "[command]") {
  CHECK(completed(run("printf ' {\"a\": [1]} \\n\\n'")) == "{\"a\": [1]}");
  CHECK(completed(run("cat", R"({"text":"größe"})")) == R"({"text":"größe"})");
  CHECK(completed(run("printf 12345678901234567890.125")) == "12345678901234567890.125");
}

TEST_CASE("both pipes are moved at once: 3 MB go through cat", "[command]") {
  const std::string input = "\"" + std::string(3 << 20U, 'x') + "\"";
  CHECK(completed(run("cat", input)) == input);
}

TEST_CASE("what a command printed before its end is read, however late we come", "[command]") {
  std::size_t bytes = 0;
  auto child = worker::CommandChild::start(
      {"/bin/sh", "-c", "head -c 1000000 /dev/zero; head -c 30000 /dev/zero >&2"},
      {},
      "/",
      {.out =
           [&](std::string_view some) {
             bytes += some.size();
             std::this_thread::sleep_for(250ms);  // as on a machine that has no time for us
           },
       .error = [&](std::string_view some) { bytes += some.size(); }}
  );
  REQUIRE(child);
  eventually("it has ended", 20s, [&] {
    return read_file("/proc/" + std::to_string((*child)->pid()) + "/stat").find(") Z ") !=
           std::string::npos;
  });
  while (!(*child)->pump(SteadyClock::now() + 10s)) continue;
  CHECK(bytes == 1'030'000);
}

TEST_CASE("a command that does not read its input is fine", "[command]") {
  const std::string input = "\"" + std::string(10 << 20U, 'x') + "\"";
  CHECK(completed(run("echo 1", input)) == "1");
  CHECK(completed(run("exec 0<&-; sleep 0.1; echo 2", input)) == "2");
}

TEST_CASE("an exit code decides", "[command]") {
  const auto [script, kind, text] = GENERATE(table<std::string, Kind, std::string>({
      {"exit 1", Kind::failed, "exited with 1"},
      {"echo {}; exit 3", Kind::failed, "exited with 3"},
      {"echo why >&2; exit 75", Kind::failed, "exited with 75, a temporary failure: why"},
      {"echo why >&2; exit 65", Kind::permanent, "exited with 65: why"},
      {"exit 78", Kind::permanent, "exited with 78"},
      {"exit 255", Kind::failed, "exited with 255"},
      {"kill -SEGV $$", Kind::failed, "died of SIGSEGV"},
      {"kill -9 $$",
       Kind::failed,
       "died of SIGKILL (killed from outside; a machine out of memory does that)"},
      {"kill -TERM $$", Kind::failed, "died of SIGTERM"},
  }));
  CAPTURE(script);
  const StepOutcome outcome = run(script);
  CHECK(outcome.kind == kind);
  CHECK(outcome.text == text);
}

TEST_CASE("what is not one JSON value fails the attempt and says where", "[command]") {
  const auto [script, text] = GENERATE(table<std::string, std::string>({
      {"true", "printed nothing on stdout: print one JSON value, or declare \"output\": \"none\""},
      {"printf ' \\n'", "printed nothing on stdout"},
      {"printf '{}{}'", "line 1, column 3: The document root must not be followed by other values."
      },
      {"printf 'debug\\n{}'", "line 1, column 1: Invalid value. It begins with \"debug {}\""},
      {"printf '[NaN]'", "line 1, column 2: Invalid value."},
      {"printf '\"\\377\"'", "Invalid encoding in string."},
      {"printf '\\000'", "stdout is not one JSON value: line 1, column 1"},
      {"printf '\"\\\\u0000\"'",
       "stdout cannot be stored: line 1, column 1: a string contains U+0000"},
      {"printf '{\"half\":'", "stdout is not one JSON value: line 1, column 9"},
      {"printf '\\357\\273\\277{}'", "begins with a byte order mark"},
      {"printf \"{'a':1}\"", "stdout is not one JSON value"},
      {"echo oops; echo why >&2", "It begins with \"oops \": why"},
  }));
  CAPTURE(script);
  CHECK_THAT(failure(run(script)), Catch::Contains(text));
}

TEST_CASE("an array step prints an array", "[command]") {
  CommandStep step(worker::Command{
      .arguments = shell("cat"), .folder = "/", .output = worker::Command::Output::array
  });
  CHECK(completed(step.run("[1]")) == "[1]");
  CHECK(failure(step.run("{}")) == "an array step prints a JSON array, got \"{}\"");
}

TEST_CASE("with output none, stdout goes to the log and the output is null", "[command]") {
  CommandStep step(worker::Command{
      .arguments = shell("echo one; echo two"),
      .folder = "/",
      .output = worker::Command::Output::none
  });
  CHECK(completed(step.run()) == "null");
  CHECK(
      step.log.lines() ==
      std::vector<std::string>{
          "info command.stdout step=stepOne line=one", "info command.stdout step=stepOne line=two"
      }
  );
}

TEST_CASE("stderr goes to the log, and its end into the error", "[command]") {
  CommandStep step(shell("printf 'first\\n\\033[1mlast\\377' >&2; exit 1"));
  CHECK(failure(step.run()) == "exited with 1: first\n[1mlast\uFFFD");
  CHECK(step.log.has("info command.stderr step=stepOne line=first"));
  CHECK(step.log.has("info command.stderr step=stepOne line=\033[1mlast\uFFFD"));
}

TEST_CASE("a flood of stderr is drained, its beginning logged, its end kept", "[command]") {
  CommandStep step(shell("yes 0123456789 | head -c 20000000 >&2; echo last >&2; exit 4"));
  const std::string error = failure(step.run());
  CHECK(error.starts_with("exited with 4: "));
  CHECK(error.ends_with("last"));
  CHECK(error.size() < 2'100);
  const auto lines = step.log.lines();
  CHECK(lines.size() < 20'000);
  CHECK_THAT(lines.back(), Catch::Contains("bytes that are not logged"));
}

TEST_CASE("a flood of stdout ends the command", "[command]") {
  CHECK(failure(run("yes")) == "printed more than 64 MiB on stdout");
}

TEST_CASE("a command that closes its descriptors is waited for", "[command]") {
  CHECK(
      failure(run("exec 0<&- 1<&- 2<&- 3<&- 4<&- 5<&- 6<&- 7<&- 8<&- 9<&-; sleep 0.2; exit 7")) ==
      "exited with 7"
  );
}

TEST_CASE("a grandchild that keeps the pipes does not keep the task", "[command]") {
  const auto [script, output] = GENERATE(table<std::string, std::string>({
      {"sleep 300 & echo '{\"ok\":1}'", "{\"ok\":1}"},
      {"sleep 300 2>/dev/null & echo 1", "1"},
      {"sleep 300 >/dev/null & echo 2", "2"},
      {"yes '' & echo 3; kill $!", "3"},
      {"(while sleep 0.01; do echo; done) & echo 4", "4"},
  }));
  CAPTURE(script);
  const auto began = std::chrono::steady_clock::now();
  CHECK(completed(run(script)).starts_with(output));
  CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(5));
  CHECK(children().empty());
}

TEST_CASE("daemons are ended with the task, whatever they did to hide", "[command]") {
  CommandStep step(
      shell("setsid sleep 300 & a=$!; (setsid sh -c 'sleep 300 & echo $! >&2; wait' &);"
            "env -i setsid sleep 300 & sleep 0.2; echo \"[$a, $!]\"")
  );
  const auto output = json::parse(completed(step.run()));
  REQUIRE(output);
  for (const auto& pid : output->items) CHECK_FALSE(is_alive(pid.text));
  CHECK(children().empty());
  const auto lines = step.log.lines();
  CHECK(std::any_of(lines.begin(), lines.end(), [](const std::string& line) {
    return line.starts_with("warn command.leftovers_killed step=stepOne processes=");
  }));
}

TEST_CASE("one task's end leaves the daemons of a running one alone", "[command]") {
  const TemporaryFolder folder;
  CommandStep slow(shell(
      "setsid sleep 300 & echo $! > " + folder.path() + "/pid; while [ ! -e " + folder.path() +
      "/go ]; do sleep 0.02; done; echo 1"
  ));
  auto running = std::async(std::launch::async, [&] { return slow.run(); });
  eventually("it has started its daemon", 5s, [&] {
    return !read_file(folder.path() + "/pid").empty();
  });
  const std::string pid = trimmed(read_file(folder.path() + "/pid"));
  for (int i = 0; i < 5; ++i) CHECK(completed(run("setsid sleep 300 & echo 2")) == "2");
  CHECK(is_alive(pid));
  std::ofstream(folder.path() + "/go") << "go";
  CHECK(completed(running.get()) == "1");
  CHECK_FALSE(is_alive(pid));
}

TEST_CASE("at its deadline a command gets TERM, and the attempt has timed out", "[command]") {
  CommandStep step(
      shell("trap 'echo \"{}\"; exit 0' TERM; echo up >&2; while :; do sleep 0.02; done")
  );
  worker::TaskStop stop;
  auto running = std::async(std::launch::async, [&] { return step.run("{}", stop); });
  eventually("it runs", 5s, [&] {
    return step.log.has("info command.stderr step=stepOne line=up");
  });
  stop.request(StopReason::timeout);
  CHECK(failure(running.get()) == "timed out after 3 s");
}

TEST_CASE(
    "a command that ignores TERM is killed with its whole tree after the grace", "[command]"
) {
  CommandStep step(worker::Command{
      .arguments = shell(
          "trap '' TERM; setsid sh -c 'trap \"\" TERM; while :; do sleep 1; done' & sleep 300 & "
          "echo up >&2; while :; do sleep 1; done"
      ),
      .folder = "/",
      .grace = std::chrono::milliseconds(300)
  });
  worker::TaskStop stop;
  auto running = std::async(std::launch::async, [&] { return step.run("{}", stop); });
  eventually("it runs", 5s, [&] {
    return step.log.has("info command.stderr step=stepOne line=up");
  });
  const auto asked = std::chrono::steady_clock::now();
  stop.request(StopReason::timeout);
  CHECK(failure(running.get()) == "timed out after 3 s");
  const auto took = std::chrono::steady_clock::now() - asked;
  CHECK(took >= std::chrono::milliseconds(300));
  CHECK(took < std::chrono::seconds(4));
  CHECK(children().empty());
}

TEST_CASE("when the worker ends, the task is given back", "[command]") {
  CommandStep step(worker::Command{
      .arguments = shell("trap 'exit 65' TERM; echo up >&2; while :; do sleep 0.02; done"),
      .folder = "/"
  });
  worker::TaskStop stop;
  auto running = std::async(std::launch::async, [&] { return step.run("{}", stop); });
  eventually("it runs", 5s, [&] {
    return step.log.has("info command.stderr step=stepOne line=up");
  });
  stop.request(StopReason::shutdown);
  CHECK(running.get().kind == Kind::released);
}

TEST_CASE("a command killed right after its start takes nobody with it", "[command]") {
  for (int i = 0; i < 100; ++i) {
    CommandStep step(shell("sleep 300"));
    worker::TaskStop stop;
    stop.request(StopReason::timeout);
    CHECK(failure(step.run("{}", stop)) == "timed out after 3 s");
  }
  CHECK(children().empty());
}

TEST_CASE("a command knows its task, and nothing of our database and supervisor", "[command]") {
  setenv("DATABASE_URL", "postgresql://u:secret@h/d", 1);
  setenv("PGPASSWORD", "secret", 1);
  setenv("PGFLOW_SUPERVISOR_FD", "3", 1);
  setenv("PGFLOW_SLOT", "a/b#1", 1);
  setenv("OUR_TOKEN", "t0ken", 1);
  CommandStep step(worker::Command{
      .arguments = shell("env >&2; echo 1"),
      .folder = "/",
      .environment = {{"PLAIN", "$HOME %d"}, {"TOKEN", "OUR_TOKEN", true}}
  });
  CHECK(completed(step.run()) == "1");
  const auto has = [&](const std::string& entry) {
    return step.log.has("info command.stderr step=stepOne line=" + entry);
  };
  CHECK(has("PGFLOW_FLOW=flowOne"));
  CHECK(has("PGFLOW_STEP=stepOne"));
  CHECK(has("PGFLOW_RUN_ID=0b5c51ae-6c0e-4d8e-b0ae-7f1d6a1f5a55"));
  CHECK(has("PGFLOW_TASK_INDEX=4"));
  CHECK(has("PGFLOW_MSG_ID=9007199254740993"));
  CHECK(has("PGFLOW_ATTEMPT=2"));
  CHECK(has("PGFLOW_MAX_ATTEMPTS=3"));
  CHECK(has("PGFLOW_WORKER_ID=9c6c1d4e-0000-4000-8000-000000000001"));
  CHECK(has("PLAIN=$HOME %d"));
  CHECK(has("TOKEN=t0ken"));
  bool has_deadline = false;
  for (const std::string& line : step.log.lines()) {
    CHECK(line.find("secret") == std::string::npos);
    CHECK(line.find("SUPERVISOR") == std::string::npos);
    CHECK(line.find("PGFLOW_SLOT") == std::string::npos);
    has_deadline = has_deadline || line.find("PGFLOW_DEADLINE_MS=1") != std::string::npos;
  }
  CHECK(has_deadline);
}

TEST_CASE("a variable that the flow file asks for and nobody set fails the attempt", "[command]") {
  unsetenv("PGFLOW_TEST_UNSET");
  CommandStep step(worker::Command{
      .arguments = shell("echo 1"), .folder = "/", .environment = {{"A", "PGFLOW_TEST_UNSET", true}}
  });
  CHECK_THAT(failure(step.run()), Catch::Contains("PGFLOW_TEST_UNSET, which is not set"));
}

TEST_CASE(
    "a command has descriptors 0 to 2, a group of its own and no blocked signal", "[command]"
) {
  const int leaked = open("/dev/null", O_RDONLY);  // not close-on-exec
  // Signals 32 and 33 are the C library's own: it ignores them in every program that it spawns.
  CHECK(
      completed(run("set -- $(cat /proc/$$/stat); [ $5 = $$ ] &&"
                    "grep -q 'SigBlk:.0000000000000000' /proc/self/status &&"
                    "grep -q 'SigIgn:.0000000[01][08]0000000' /proc/self/status && echo true")) ==
      "true"
  );
  CommandStep step(shell("ls /proc/self/fd | tr '\\n' ' ' >&2; echo 1"));
  completed(step.run());
  // 3 is the folder that ls itself reads.
  CHECK(step.log.has("info command.stderr step=stepOne line=0 1 2 3 "));
  close(leaked);
}

TEST_CASE("a program that cannot be started fails the attempt and says why", "[command]") {
  const TemporaryFolder folder;
  const std::string script = folder.path() + "/script";
  CHECK_THAT(
      failure(CommandStep({script}).run()),
      Catch::Contains("cannot start " + script + ": No such file or directory")
  );
  std::ofstream(script) << "#!/no/such/interpreter\n";
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  CHECK_THAT(failure(CommandStep({script}).run()), Catch::Contains("interpreter"));
  CommandStep gone(worker::Command{.arguments = shell("echo 1"), .folder = "/no/such/folder"});
  CHECK_THAT(failure(gone.run()), Catch::Contains("the folder /no/such/folder is gone"));
}

TEST_CASE("input that is no JSON never reaches the command", "[command]") {
  CHECK_THAT(failure(run("cat", "{")), Catch::Contains("line 1, column 2"));
}

TEST_CASE("neither processes nor descriptors add up", "[command]") {
  completed(run("echo 1"));
  const int before = open_descriptors();
  for (int i = 0; i < 50; ++i) {
    run("setsid sleep 300 & exit 3");
    run("kill -9 $$");
    CommandStep({"/no/such/program"}).run();
  }
  CHECK(open_descriptors() == before);
  CHECK(children().empty());
}
