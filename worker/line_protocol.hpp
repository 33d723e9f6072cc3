// The lines between a worker and a persistent command: what is said, and what a line of the command
// means. Text in, values out; docs/command-steps.md is its specification.
#pragma once

#include <pgflow/context.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.hpp"

namespace pgflow::worker::protocol {

// --- to the command; each ends with its line end

std::string hello_line();
// The members of a task's message behind type and id, which a child adds when it takes the task.
std::string task_members(const detail::Call& call, std::string_view flow_input);
std::string task_line(std::string_view id, std::string_view members);
// The reason may be one that no stop token has: "silent".
std::string cancel_line(std::string_view id, std::string_view reason);

// --- from the command

struct Ready {
  int concurrency = 1;  // 1 to 10,000
};
struct Output {
  std::string id;
  std::string json;  // one value
};
struct Failure {
  std::string id;
  std::string message;
  bool retryable = true;
};
struct Heartbeat {
  std::string id;
};
struct LogLine {
  std::string id;  // empty: of no task
  Logger::Level level = Logger::Level::info;
  std::string message;
  std::vector<std::pair<std::string, std::string>> fields;  // as text
};
// White space, or a type that this protocol does not know. A task that it names was heard of.
struct Other {
  std::string id;
};
using Message = std::variant<Ready, Output, Failure, Heartbeat, LogLine, Other>;

// An answer that the database cannot hold is that task's failure; a line that is no JSON object, or
// a ready that nobody can work with, is an error, and the command's end.
Result<Message> read_line(std::string_view line);

}  // namespace pgflow::worker::protocol
