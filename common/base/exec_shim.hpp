// A child's last preparations between fork and exec, for which libuv has no hook: `pgflow __exec …
// -- program args`.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pgflow {

inline constexpr std::string_view kExecVerb = "__exec";

// What the child does to itself before it becomes the program.
struct ExecShim {
  // Sent to the child when the parent's thread dies; 0: none. The shim gives up if `parent` died
  // before it was armed.
  int parent_death_signal = 0;
  pid_t parent = 0;
  // Become this user, with all groups of that user; empty: stay who we are.
  std::string user;
  std::optional<int> oom_score_adj;
  // Descriptors from here on are closed; 0: none.
  unsigned close_from = 3;
};

// The arguments that make `shim_program` (a program that calls exec_shim_main) prepare itself and
// become `command`. command[0] is an absolute path and becomes argv[0] as it stands.
// "/proc/self/exe" is a good shim_program: it is this very binary even after the file was replaced.
std::vector<std::string> exec_shim_command(
    std::string shim_program, const ExecShim& shim, const std::vector<std::string>& command
);

// The body of `__exec`: returns only when something failed, with the exit code (71 preparing,
// 126/127 exec).
int exec_shim_main(int argc, char** argv);

}  // namespace pgflow
