// One running command: its three pipes are moved at once, so that neither side ever waits for the
// other.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "worker/command_tree.hpp"

namespace pgflow::worker {

// One thread pumps; only wake() is for others.
class CommandChild {
 public:
  using Sink = std::function<void(std::string_view bytes)>;
  struct Events {
    Sink out;    // its stdout
    Sink error;  // its stderr
  };

  static Result<std::unique_ptr<CommandChild>> start(
      std::vector<std::string> arguments,
      std::vector<std::string> environment,
      std::string folder,
      Events events
  );
  // Kills it when it still runs.
  ~CommandChild();
  CommandChild(const CommandChild&) = delete;
  CommandChild& operator=(const CommandChild&) = delete;

  // Adds to what its stdin gets; a child that does not read it is fine.
  void write(std::string_view text) { input_ += text; }
  // Its stdin ends behind what was written.
  void close_input() { input_ends_ = true; }

  // Moves bytes until then, until wake(), or until the child has ended and what it printed is read.
  // True once it has ended.
  bool pump(SteadyClock::time_point until);
  // Makes the running or the next pump() return at once.
  void wake();

  // TERM or KILL to its whole group.
  void signal(int number);

  pid_t pid() const { return process_.pid; }
  // After the end.
  const std::optional<CommandEnd>& end() const { return end_; }

 private:
  CommandChild() = default;
  void feed();
  std::size_t read_some(UniqueFd& pipe, const Sink& sink);
  void read_out(UniqueFd& pipe, const Sink& sink);

  StartedCommand process_;
  UniqueFd wake_;
  UniqueFd in_;
  UniqueFd out_;
  UniqueFd error_;
  Events events_;
  std::string buffer_;  // for reading
  std::string input_;
  std::size_t fed_ = 0;  // bytes of input_ that the pipe has
  bool input_ends_ = false;
  std::optional<CommandEnd> end_;
};

// "exited with 3", "died of SIGSEGV"; of a kill from outside, what is behind it more often than
// not.
std::string describe_end(const CommandEnd& end);

}  // namespace pgflow::worker
