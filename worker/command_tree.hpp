// The processes of this worker's commands: each started in a group of its own, and ended together
// with everything that it left running, daemons in sessions of their own included.
//
// The worker is the subreaper of all of them: a process whose parent dies becomes the worker's
// child. Which command it came from, it tells by the mark in its environment. One without a mark
// (it cleared its environment) is ended when no command runs any more.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/unique_fd.hpp"

namespace pgflow::worker {

// The mark: unique among the commands of this process.
inline constexpr std::string_view kChildIdVariable = "PGFLOW_CHILD_ID";

struct CommandStart {
  std::vector<std::string> arguments;    // [0] is the program's path
  std::vector<std::string> environment;  // "NAME=value"; the mark is added
  std::string folder;
  int standard_input = -1;
  int standard_output = -1;
  int standard_error = -1;
};

struct StartedCommand {
  pid_t pid = 0;   // also its group's number
  UniqueFd ended;  // readable once it has ended
};

struct CommandEnd {
  int code = 0;
  int signal = 0;     // 0: it ended by itself, with `code`
  int leftovers = 0;  // processes that it left running
};

// All of these may be called from any thread.

// The kind of a failed start that may work later: no process, descriptor or memory is left.
inline constexpr std::string_view kNoRoomForCommand = "no_room_for_command";
std::string_view kind_of_failed_start(int error);

// The child has its standard streams and no other descriptor, default signals and none blocked.
Result<StartedCommand> start_command(const CommandStart& start);

// To the command's group; it must not have been reaped.
void signal_command(pid_t pid, int number);

// Of a command that has ended: kills what it left, reaps it. Exactly once a command.
CommandEnd reap_command(pid_t pid);

// Reaps processes that ended after their parents did.
void reap_strangers();

// The worker ends without waiting for its handlers: nothing that they started may stay.
void kill_all_commands();

}  // namespace pgflow::worker
