#include "worker/command_tree.hpp"

#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
#include <set>
#include <sstream>
#include <string_view>

#include "base/clock.hpp"
#include "base/proc.hpp"

namespace pgflow::worker {
namespace {

using namespace std::chrono_literals;

// A process that does not die of SIGKILL for so long hangs in the kernel: later sweeps find it.
constexpr auto kSweepLimit = 1s;

std::mutex mutex;
// Guarded by mutex.
std::map<pid_t, std::string> living;  // pid and mark of every command that is not reaped
std::set<std::string> marks;          // theirs, and those of commands that are being started
std::uint64_t last_child = 0;
bool closed = false;  // the process ends: nothing may be started any more

// The value of a process's mark; empty without one.
std::string mark_of(pid_t pid) {
  const std::string start = std::string(kChildIdVariable) + "=";
  std::istringstream environment(proc_file(std::to_string(pid) + "/environ"));
  for (std::string entry; std::getline(environment, entry, '\0');) {
    if (entry.starts_with(start)) return entry.substr(start.size());
  }
  return "";
}

void await_end(pid_t pid, SteadyClock::time_point limit) {
  const UniqueFd process = open_pidfd(pid);
  if (!process) return;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(limit - SteadyClock::now());
  pollfd ended{process.get(), POLLIN, 0};
  poll(&ended, 1, static_cast<int>(std::max(0ms, left).count()));
}

struct Look {
  bool found = false;          // what died or dies may leave children of its own: look again
  std::vector<pid_t> dying{};  // killed, and not dead when we looked
};

// Looks once at every adopted process: reaps the dead, kills those that no living command answers
// for. `ended`: a command that is dead but not reaped. A pid here cannot be somebody else's: these
// are our children, and only we reap them.
Look sweep_once(pid_t ended, std::set<pid_t>& killed) {
  const std::lock_guard lock(mutex);
  const auto dead = living.find(ended);
  const std::string_view dead_mark = dead == living.end() ? "" : std::string_view(dead->second);
  const bool alone = marks.size() == (dead == living.end() ? 0U : 1U);
  Look look;
  for (const pid_t pid : children_of_first_thread()) {
    if (living.contains(pid)) continue;
    if (waitpid(pid, nullptr, WNOHANG) == pid) {
      look.found = true;
      continue;
    }
    const std::string mark = mark_of(pid);
    if (mark.empty() ? !alone : mark != dead_mark && marks.contains(mark)) continue;
    look.found = true;
    look.dying.push_back(pid);
    if (killed.insert(pid).second) kill(pid, SIGKILL);
  }
  return look;
}

// Kills and reaps until nothing is left to be killed. Returns how many were alive.
int sweep(pid_t ended) {
  std::set<pid_t> killed;
  const auto limit = SteadyClock::now() + kSweepLimit;
  for (;;) {
    const Look look = sweep_once(ended, killed);
    if (!look.found || SteadyClock::now() >= limit) return static_cast<int>(killed.size());
    for (const pid_t pid : look.dying) await_end(pid, limit);
  }
}

class SpawnSetup {
 public:
  explicit SpawnSetup(const CommandStart& start) {
    posix_spawnattr_init(&attributes);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    // In the child, before it becomes the program: there is no moment in which a signal to the
    // group would reach ours.
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(
        &attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP
    );
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, start.standard_input, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, start.standard_output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, start.standard_error, STDERR_FILENO);
    posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
    posix_spawn_file_actions_addchdir_np(&actions, start.folder.c_str());
  }
  ~SpawnSetup() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
  SpawnSetup(const SpawnSetup&) = delete;
  SpawnSetup& operator=(const SpawnSetup&) = delete;

  posix_spawnattr_t attributes{};
  posix_spawn_file_actions_t actions{};
};

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

// A missing folder and a missing interpreter look like a missing program.
std::string why_not_started(const CommandStart& start, int error) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(start.folder, ignored)) {
    return "the folder " + start.folder + " is gone";
  }
  if (error == ENOENT && std::filesystem::exists(start.arguments[0], ignored)) {
    return "the interpreter that its first line names is not there";
  }
  return std::strerror(error);
}

}  // namespace

std::string_view kind_of_failed_start(int error) {
  const bool passes = error == EAGAIN || error == ENOMEM || error == EMFILE || error == ENFILE;
  return passes ? kNoRoomForCommand : "spawn";
}

Result<StartedCommand> start_command(const CommandStart& start) {
  std::unique_lock lock(mutex);
  if (closed) return fail({.kind = "spawn", .message = "the worker ends"});
  if (last_child == 0) prctl(PR_SET_CHILD_SUBREAPER, 1);
  const std::string mark = std::to_string(getpid()) + "." + std::to_string(++last_child);
  marks.insert(mark);
  std::vector<std::string> arguments = start.arguments;
  std::vector<std::string> environment = start.environment;
  environment.push_back(std::string(kChildIdVariable) + "=" + mark);
  const SpawnSetup setup(start);
  pid_t pid = 0;
  // Starting takes long on a busy machine, so others may start and sweep meanwhile. They do not see
  // the child before it is registered: only the first thread's children stand among the adopted.
  const bool is_first_thread = gettid() == getpid();
  if (!is_first_thread) lock.unlock();
  int error = posix_spawn(
      &pid,
      arguments[0].c_str(),
      &setup.actions,
      &setup.attributes,
      pointers(arguments).data(),
      pointers(environment).data()
  );
  if (!is_first_thread) lock.lock();
  StartedCommand started{pid, UniqueFd()};
  std::string why;
  if (error != 0) {
    why = "cannot start " + arguments[0] + ": " + why_not_started(start, error);
  } else {
    started.ended = open_pidfd(pid);
    if (!started.ended) {
      error = errno;
      why = "cannot watch " + arguments[0] + ": " + std::strerror(error);
    }
    if (closed) why = "the worker ends";
    if (why.empty()) {
      living.emplace(pid, mark);
      return started;
    }
    kill(-pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }
  marks.erase(mark);
  return fail({.kind = std::string(kind_of_failed_start(error)), .message = std::move(why)});
}

void signal_command(pid_t pid, int number) {
  const std::lock_guard lock(mutex);
  if (living.contains(pid)) kill(-pid, number);
}

CommandEnd reap_command(pid_t pid) {
  CommandEnd end;
  end.leftovers = sweep(pid);
  int status = 0;
  {
    const std::lock_guard lock(mutex);
    const auto command = living.find(pid);
    if (command == living.end()) {  // kill_all_commands() was here
      end.signal = SIGKILL;
      return end;
    }
    marks.erase(command->second);
    living.erase(command);
    // While the leader is not reaped, the group's number is nobody else's.
    kill(-pid, SIGKILL);
    waitpid(pid, &status, 0);
  }
  sweep(0);
  end.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  end.code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  return end;
}

void reap_strangers() {
  const std::lock_guard lock(mutex);
  for (const pid_t pid : children_of_first_thread()) {
    if (!living.contains(pid)) waitpid(pid, nullptr, WNOHANG);
  }
}

void kill_all_commands() {
  std::unique_lock lock(mutex);
  closed = true;
  if (last_child == 0) return;
  for (const auto& [pid, mark] : living) kill(-pid, SIGKILL);
  // What they started is ours only when they are dead.
  const auto limit = SteadyClock::now() + kSweepLimit;
  while (!living.empty() && SteadyClock::now() < limit) {
    std::erase_if(living, [](const auto& child) {
      return waitpid(child.first, nullptr, WNOHANG) == child.first;
    });
    if (!living.empty()) await_end(living.begin()->first, limit);
  }
  living.clear();
  marks.clear();
  lock.unlock();
  sweep(0);
}

}  // namespace pgflow::worker
