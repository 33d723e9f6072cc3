// `pgflow completion` and `pgflow man`: made from the command table, and good for the programs that
// read them.
#include <filesystem>
#include <fstream>

#include "cli_support.hpp"

using namespace pgflow::test;

namespace {

Ended run_program(const std::vector<std::string>& arguments) {
  Process process(Command{arguments});
  const auto code = process.wait(30s);
  REQUIRE(code.has_value());
  return {*code, process.out(), process.err()};
}

bool installed(const std::string& program) {
  return std::filesystem::exists("/usr/bin/" + program);
}

std::string script(const TemporaryFolder& folder, const std::string& shell) {
  std::string file = folder.path() + "/" + shell;
  const Ended ended = run_pgflow({"completion", shell});
  REQUIRE(ended.exit_code == 0);
  std::ofstream(file) << ended.out;
  return file;
}

// What bash offers for the last of the words.
std::string completed(const std::string& file, const std::string& words) {
  const Ended ended = run_program(
      {"/bin/bash",
       "-c",
       "source \"$0\"; COMP_WORDS=(" + words +
           "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _pgflow; "
           "echo \"${COMPREPLY[*]}\"",
       file}
  );
  INFO(ended.err);
  CHECK(ended.exit_code == 0);
  return ended.out.substr(0, ended.out.find('\n'));
}

}  // namespace

TEST_CASE("bash completes commands, options and their values", "[cli][scripts]") {
  TemporaryFolder folder;
  const std::string file = script(folder, "bash");
  CHECK(run_program({"/bin/bash", "-n", file}).exit_code == 0);
  CHECK(completed(file, "pgflow stat") == "status");
  CHECK(completed(file, "pgflow run re") == "rerun");
  CHECK(completed(file, "pgflow queue ''") == "list show peek -h --help");
  CHECK(completed(file, "pgflow coverage --ti") == "--timeout");
  CHECK(completed(file, "pgflow status -o ''") == "text json");
  CHECK(completed(file, "pgflow run list --status f") == "failed");
  CHECK(completed(file, "pgflow completion f") == "fish");
  CHECK(completed(file, "pgflow fence list --a") == "--all");
  CHECK(completed(file, "pgflow status -c /etc/host") != "");
  CHECK(completed(file, "pgflow run list --flow ''").empty());
}

TEST_CASE("zsh and fish can read theirs", "[cli][scripts]") {
  TemporaryFolder folder;
  const std::string zsh = script(folder, "zsh");
  const std::string fish = script(folder, "fish");
  CHECK(contains(read_file(zsh), "'rerun:Start a new run with the input of an earlier one'"));
  CHECK(contains(
      read_file(fish), "complete -c pgflow -n \"__pgflow_at pgflow run\" -a rerun -d 'Start a new "
  ));
  if (installed("zsh")) CHECK(run_program({"/usr/bin/zsh", "-n", zsh}).exit_code == 0);
  if (installed("fish")) {
    CHECK(run_program({"/usr/bin/fish", "-n", fish}).exit_code == 0);
    const Ended offered =
        run_program({"/usr/bin/fish", "-c", "source " + fish + "; complete -C 'pgflow run re'"});
    CHECK(contains(offered.out, "rerun\t"));
  }
}

TEST_CASE(
    "the man page names every command and troff finds nothing to complain about", "[cli][scripts]"
) {
  TemporaryFolder folder;
  const Ended page = run_pgflow({"man"});
  CHECK(page.exit_code == 0);
  for (const char* verb : {"pgflow up", "pgflow run rerun", "pgflow fence list", "pgflow doctor"}) {
    CHECK(contains(page.out, std::string(".SS \\fB") + verb + "\\fR"));
  }
  if (!installed("groff")) return;
  const std::string file = folder.path() + "/pgflow.1";
  std::ofstream(file) << page.out;
  const Ended rendered = run_program({"/usr/bin/groff", "-ww", "-man", "-Tutf8", file});
  CHECK(rendered.exit_code == 0);
  CHECK(rendered.err.empty());
  CHECK(contains(rendered.out, "Start a new run with the input of an earlier one."));
}

TEST_CASE("an unknown shell is refused", "[cli][scripts]") {
  const Ended ended = run_pgflow({"completion", "tcsh"});
  CHECK(ended.exit_code == 64);
  CHECK(contains(ended.err, "must be one of bash, zsh, fish"));
}
