#include "uv/child_process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <optional>

#include "base/unique_fd.hpp"
#include "support/catch.hpp"

namespace uv = pgflow::uv;

namespace {

struct Pipe {
  pgflow::UniqueFd read_end;
  pgflow::UniqueFd write_end;
  Pipe() {
    std::array<int, 2> ends{};
    REQUIRE(pipe2(ends.data(), O_CLOEXEC) == 0);
    read_end.reset(ends[0]);
    write_end.reset(ends[1]);
  }
  std::string rest() {
    write_end.reset();
    std::string text;
    std::array<char, 512> buffer{};
    for (ssize_t n; (n = read(read_end.get(), buffer.data(), buffer.size())) > 0;) {
      text.append(buffer.data(), static_cast<std::size_t>(n));
    }
    return text;
  }
};

// Runs the command to its end.
uv::ChildProcess::Exit run(uv::ChildCommand command) {
  uv::Loop loop;
  std::optional<uv::ChildProcess::Exit> exit;
  auto child = uv::ChildProcess::start(loop, command, [&](uv::ChildProcess::Exit e) { exit = e; });
  REQUIRE(child.has_value());
  CHECK(uv::ChildProcess::awaits((*child)->pid()));
  loop.run();
  REQUIRE(exit.has_value());
  CHECK_FALSE((*child)->running());
  CHECK_FALSE(uv::ChildProcess::awaits((*child)->pid()));
  return *exit;
}

}  // namespace

TEST_CASE("a child's exit code is reported on the loop", "[uv][child_process]") {
  uv::ChildProcess::Exit exit = run({.arguments = {"/bin/sh", "-c", "exit 7"}});
  CHECK(exit.code == 7);
  CHECK(exit.signal == 0);
}

TEST_CASE("a child's death by signal is told from an exit", "[uv][child_process]") {
  uv::ChildProcess::Exit exit = run({.arguments = {"/bin/sh", "-c", "kill -KILL $$"}});
  CHECK(exit.signal == SIGKILL);
}

TEST_CASE(
    "a child gets its folder, its variables and exactly the descriptors it is given",
    "[uv][child_process]"
) {
  Pipe pipe;
  run({
      .arguments =
          {"/bin/sh", "-c", "pwd >&5; echo $WORD >&5; [ -e /proc/self/fd/4 ] || echo no 4 >&5"},
      .environment = std::vector<std::string>{"WORD=here"},
      .folder = "/usr",
      .descriptors = {{pipe.write_end.get(), 5}},
  });
  CHECK(pipe.rest() == "/usr\nhere\nno 4\n");
}

TEST_CASE("a signal reaches a running child", "[uv][child_process]") {
  uv::Loop loop;
  std::optional<uv::ChildProcess::Exit> exit;
  auto child = uv::ChildProcess::start(
      loop, {.arguments = {"/bin/sleep", "600"}, .new_session = true}, [&](auto e) { exit = e; }
  );
  REQUIRE(child.has_value());
  CHECK(getsid((*child)->pid()) == (*child)->pid());
  (*child)->signal(SIGTERM);
  loop.run();
  REQUIRE(exit.has_value());
  CHECK(exit->signal == SIGTERM);
  (*child)->signal(SIGTERM);  // to nobody
}

TEST_CASE("a program that is not there is an error at once", "[uv][child_process]") {
  uv::Loop loop;
  auto child = uv::ChildProcess::start(loop, {.arguments = {"/nonexistent/program"}}, [](auto) {});
  REQUIRE_FALSE(child.has_value());
  CHECK(child.error().message == "cannot start /nonexistent/program");
  CHECK(child.error().detail == "no such file or directory");
}
