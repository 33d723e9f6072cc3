// A child process: started by the loop's thread, its end reported on the loop.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "uv/handle.hpp"

namespace pgflow::uv {

struct ChildCommand {
  std::vector<std::string> arguments;                     // [0] is the program's path
  std::optional<std::vector<std::string>> environment{};  // "NAME=value"; absent: ours
  std::string folder{};                                   // empty: ours
  // {here, there}: what the child gets. Of 0, 1 and 2 the ones not named are /dev/null.
  std::vector<std::pair<int, int>> descriptors{};
  bool new_session = false;  // a terminal's Ctrl-C does not reach it
};

class ChildProcess {
 public:
  struct Exit {
    int code = 0;
    int signal = 0;  // 0: it ended by itself, with `code`
  };

  // A program that is not there or may not be run is an error at once.
  static Result<std::unique_ptr<ChildProcess>> start(
      Loop& loop, const ChildCommand& command, std::function<void(Exit)> on_exit
  );
  // A child that still runs is left alone, and nobody learns how it ended.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  pid_t pid() const { return pid_; }
  bool running() const { return running_; }
  // Does nothing after the end: the number may be somebody else's by then.
  void signal(int number);

  // Some ChildProcess in this program will be told of the end of this child: nobody else may wait
  // for it.
  static bool awaits(pid_t pid);

 private:
  ChildProcess(Loop& loop, std::function<void(Exit)> on_exit);
  static void on_exit(uv_process_t* handle, std::int64_t status, int signal) noexcept;

  Loop& loop_;
  std::function<void(Exit)> on_exit_;
  pid_t pid_ = 0;
  bool running_ = false;
  Handle<uv_process_t> handle_;
};

}  // namespace pgflow::uv
