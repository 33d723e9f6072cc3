// A program under test: started with arguments and variables, its output in files.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace pgflow::test {

struct Command {
  std::vector<std::string> arguments;                              // the program first
  std::vector<std::pair<std::string, std::string>> environment{};  // beside the test's own
  // {descriptor here, descriptor there}: what the child inherits beside 0, 1 and 2, or instead.
  std::vector<std::pair<int, int>> descriptors{};
};

class Process {
 public:
  explicit Process(const Command& command);
  // Kills what still runs.
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }
  void signal(int number) const;
  // Exit code, 128 + number for a death by signal; nothing when it still runs after the limit.
  std::optional<int> wait(std::chrono::milliseconds limit);
  bool running() { return !wait(std::chrono::milliseconds(0)); }

  std::string out() const;  // standard output so far
  std::string err() const;  // standard error so far

 private:
  std::string folder_;
  pid_t pid_ = -1;
  std::optional<int> exit_code_;
};

// The write end of a pipe that holds 4 KiB and that nobody reads.
class UnreadPipe {
 public:
  UnreadPipe();
  ~UnreadPipe();
  UnreadPipe(const UnreadPipe&) = delete;
  UnreadPipe& operator=(const UnreadPipe&) = delete;
  int writer() const { return ends_[1]; }
  bool is_full() const;

 private:
  int ends_[2];
};

std::string read_file(const std::string& path);  // "" if there is none
// A new empty folder, removed at the end.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace pgflow::test
