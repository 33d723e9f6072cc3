// The program pgflow.
#include "base/exec_shim.hpp"
#include "base/standard_fds.hpp"
#include "supervisor/cli.hpp"

int main(int argc, char** argv) {
  // Before anything else: the shim runs in every child of ours, and must cost nothing.
  if (argc > 1 && argv[1] == pgflow::kExecVerb) return pgflow::exec_shim_main(argc, argv);
  pgflow::open_missing_standard_fds();
  return pgflow::cli::run(argc, argv);
}
