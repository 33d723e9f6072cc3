// What a worker writes to its standard output and its standard error, line by line, and never more
// of it at a time than a loop with other things to do can spare.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/unique_fd.hpp"
#include "uv/poll.hpp"

namespace pgflow::supervisor {

class WorkerOutput {
 public:
  using OnLine = std::function<void(std::string_view line)>;  // without its end

  // `pipe` does not block.
  WorkerOutput(uv::Loop& loop, UniqueFd pipe, OnLine on_line);
  WorkerOutput(const WorkerOutput&) = delete;
  WorkerOutput& operator=(const WorkerOutput&) = delete;

  // Its writer has ended: takes what lies in the pipe, and a last line without an end.
  void finish();

 private:
  // False: the pipe is empty, or closed.
  bool read();
  void take(std::string_view text);
  void end_line();

  UniqueFd pipe_;
  OnLine on_line_;
  std::string line_;     // as far as it has come
  bool is_cut_ = false;  // the rest of this line is left out
  bool ended_ = false;
  uv::Poll poll_;
};

}  // namespace pgflow::supervisor
