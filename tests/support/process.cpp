#include "support/process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <thread>

namespace pgflow::test {
namespace {

std::string new_folder() {
  std::string path = (std::filesystem::temp_directory_path() / "pgflow-process.XXXXXX").string();
  if (!mkdtemp(path.data())) throw std::runtime_error("mkdtemp " + path);
  return path;
}

std::vector<std::string> merged_environment(const Command& command) {
  std::map<std::string, std::string> variables;
  for (char** entry = environ; *entry; ++entry) {
    const std::string text = *entry;
    const std::size_t equals = text.find('=');
    variables[text.substr(0, equals)] = text.substr(equals + 1);
  }
  for (const auto& [name, value] : command.environment) variables[name] = value;
  std::vector<std::string> result;
  for (const auto& [name, value] : variables) result.push_back(name + "=" + value);
  return result;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

}  // namespace

Process::Process(const Command& command) : folder_(new_folder()) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(
      &files, 1, (folder_ + "/out").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600
  );
  posix_spawn_file_actions_addopen(
      &files, 2, (folder_ + "/err").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600
  );
  for (const auto& [here, there] : command.descriptors)
    posix_spawn_file_actions_adddup2(&files, here, there);
  std::vector<std::string> arguments = command.arguments;
  std::vector<std::string> environment = merged_environment(command);
  const int failed = posix_spawn(
      &pid_,
      arguments.front().c_str(),
      &files,
      nullptr,
      pointers(arguments).data(),
      pointers(environment).data()
  );
  posix_spawn_file_actions_destroy(&files);
  if (failed != 0) throw std::runtime_error("cannot start " + arguments.front());
}

Process::~Process() {
  if (!exit_code_) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

void Process::signal(int number) const {
  if (!exit_code_) kill(pid_, number);
}

std::optional<int> Process::wait(std::chrono::milliseconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (!exit_code_) {
    int status = 0;
    if (waitpid(pid_, &status, WNOHANG) == pid_) {
      exit_code_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    } else if (std::chrono::steady_clock::now() >= deadline) {
      return std::nullopt;
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
  return exit_code_;
}

std::string Process::out() const {
  return read_file(folder_ + "/out");
}

std::string Process::err() const {
  return read_file(folder_ + "/err");
}

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

UnreadPipe::UnreadPipe() {
  if (pipe2(ends_, O_CLOEXEC) != 0) throw std::runtime_error("pipe2");
  fcntl(ends_[1], F_SETPIPE_SZ, 4096);
}

UnreadPipe::~UnreadPipe() {
  close(ends_[0]);
  close(ends_[1]);
}

bool UnreadPipe::is_full() const {
  pollfd room{ends_[1], POLLOUT, 0};
  return poll(&room, 1, 0) == 0;
}

TemporaryFolder::TemporaryFolder() : path_(new_folder()) {}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace pgflow::test
