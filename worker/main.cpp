// The program pgflow-worker: a worker whose flow is a file and whose handlers are commands.
#include <cstdio>
#include <string_view>
#include <vector>

#include "base/exit_code.hpp"
#include "worker/flow_file.hpp"

namespace {

constexpr const char* kHelp =
    R"(pgflow-worker FILE ARGUMENTS…: serves the flow of a flow file, whose steps are commands.

FILE is JSON with comments; docs/command-steps.md describes it. After it come the arguments of every
worker program:

)";

}  // namespace

int main(int argc, char** argv) {
  using namespace pgflow;
  const std::string_view first = argc > 1 ? argv[1] : "";
  if (first == "--help" || first == "-h") {
    std::fputs(kHelp, stdout);
  } else if (first.empty() || first.starts_with("-")) {
    std::fputs(
        "error: The first argument must be a flow file.\n"
        "hint: pgflow-worker flow.json --pgflow-describe; --help lists the rest.\n",
        stderr
    );
    return number(ExitCode::usage);
  }
  std::vector<const char*> arguments(argv, argv + argc);
  if (!first.starts_with("-")) arguments.erase(arguments.begin() + 1);
  return detail::run_program(
      static_cast<int>(arguments.size()),
      arguments.data(),
      [&] { return std::vector{worker::read_flow_file(first)}; },
      {}
  );
}
