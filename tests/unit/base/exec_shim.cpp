#include "base/exec_shim.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <string>
#include <vector>

#include "support/catch.hpp"

namespace {

struct Finished {
  int exit_code = -1;
  std::string output;
};

// Runs `command` behind the shim; stdout and stderr together.
Finished run(const pgflow::ExecShim& shim, const std::vector<std::string>& command) {
  std::string probe = PGFLOW_BIN_DIR "/exec_shim_probe";
  std::vector<std::string> line = pgflow::exec_shim_command(probe, shim, command);
  std::array<int, 2> pipe_ends{};
  REQUIRE(pipe(pipe_ends.data()) == 0);
  pid_t child = fork();
  if (child == 0) {
    dup2(pipe_ends[1], 1);
    dup2(pipe_ends[1], 2);
    close(pipe_ends[0]);
    close(pipe_ends[1]);
    std::vector<char*> arguments;
    for (std::string& argument : line) arguments.push_back(argument.data());
    arguments.push_back(nullptr);
    execv(arguments[0], arguments.data());
    _exit(125);
  }
  close(pipe_ends[1]);
  Finished finished;
  std::array<char, 4096> buffer{};
  for (ssize_t n; (n = read(pipe_ends[0], buffer.data(), buffer.size())) > 0;) {
    finished.output.append(buffer.data(), static_cast<std::size_t>(n));
  }
  close(pipe_ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status)) finished.exit_code = WEXITSTATUS(status);
  return finished;
}

}  // namespace

TEST_CASE("the shim becomes the program with its arguments as they stand", "[base][exec_shim]") {
  Finished finished = run({}, {"/bin/echo", "--user=nobody", "two words", "--"});
  CHECK(finished.exit_code == 0);
  CHECK(finished.output == "--user=nobody two words --\n");
}

TEST_CASE("descriptors of the parent do not reach the program", "[base][exec_shim]") {
  int leaked = open("/dev/null", O_RDONLY);
  REQUIRE(leaked >= 3);
  Finished finished =
      run({}, {"/bin/sh", "-c", "[ -e /proc/self/fd/" + std::to_string(leaked) + " ]"});
  close(leaked);
  CHECK(finished.exit_code == 1);
}

TEST_CASE("root's child becomes the given user", "[base][exec_shim]") {
  if (getuid() != 0) return;  // only root may become somebody else
  pgflow::ExecShim shim;
  shim.user = "nobody";
  Finished finished = run(shim, {"/usr/bin/id", "-un"});
  CHECK(finished.exit_code == 0);
  CHECK(finished.output == "nobody\n");
}

TEST_CASE("a child whose parent died before it was armed gives up", "[base][exec_shim]") {
  pgflow::ExecShim shim;
  shim.parent_death_signal = 2;
  shim.parent = 1;
  Finished finished = run(shim, {"/bin/true"});
  CHECK(finished.exit_code == 71);
  CHECK(finished.output.find("the parent is gone") != std::string::npos);
}

TEST_CASE("the score for the out-of-memory killer is set", "[base][exec_shim]") {
  pgflow::ExecShim shim;
  shim.oom_score_adj = 300;
  Finished finished = run(shim, {"/bin/cat", "/proc/self/oom_score_adj"});
  CHECK(finished.output == "300\n");
}

TEST_CASE("what the shim cannot do is an error with the system's reason", "[base][exec_shim]") {
  SECTION("a program that is not there") {
    Finished finished = run({}, {"/nonexistent/program"});
    CHECK(finished.exit_code == 127);
    CHECK(finished.output.find("/nonexistent/program") != std::string::npos);
    CHECK(finished.output.find("No such file or directory") != std::string::npos);
  }
  SECTION("a file that is no program") {
    CHECK(run({}, {"/etc/passwd"}).exit_code == 126);
  }
  SECTION("an unknown user") {
    pgflow::ExecShim shim;
    shim.user = "no-such-user";
    CHECK(run(shim, {"/bin/true"}).exit_code == 71);
  }
}
