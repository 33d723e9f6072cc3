// The variables that a command gets.
#pragma once

#include <pgflow/context.hpp>

#include <string>
#include <vector>

#include "worker/command.hpp"

namespace pgflow::worker {

// "NAME=value". Ours, without what is between us, our database and our supervisor; what names the
// step; what the flow file says, which wins. std::runtime_error when it asks for a variable that is
// not set.
std::vector<std::string> command_environment(const Command& command, const TaskInfo& task);

// The same with what names the task. The deadline is absent when there is none.
std::vector<std::string> task_environment(const Command& command, const detail::Call& call);

}  // namespace pgflow::worker
