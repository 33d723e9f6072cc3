#include "base/exec_shim.hpp"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>

namespace pgflow {
namespace {

constexpr int kExitUsage = 64;
constexpr int kExitOsError = 71;
constexpr int kExitNotExecutable = 126;
constexpr int kExitNotFound = 127;

constexpr std::string_view kParentDeathSignal = "--parent-death-signal=";
constexpr std::string_view kParent = "--parent=";
constexpr std::string_view kUser = "--user=";
constexpr std::string_view kOomScoreAdj = "--oom-score-adj=";
constexpr std::string_view kCloseFrom = "--close-from=";
constexpr std::string_view kEndOfOptions = "--";

int fail(int exit_code, const char* what, const char* name) {
  std::fprintf(
      stderr,
      "error: cannot start a child process: %s %s\ndetail: %s\n",
      what,
      name,
      std::strerror(errno)
  );
  return exit_code;
}

bool take(std::string_view argument, std::string_view option, std::string_view& value) {
  if (!argument.starts_with(option)) return false;
  value = argument.substr(option.size());
  return true;
}

template <class Number>
bool parse(std::string_view text, Number& number) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size();
}

// Returns the index of the program in argv, 0 when the line is not one that exec_shim_command
// wrote.
int read_options(int argc, char** argv, ExecShim& shim) {
  for (int i = 2; i < argc; ++i) {
    std::string_view argument = argv[i];
    std::string_view value;
    bool valid = true;
    if (argument == kEndOfOptions) return i + 1 < argc ? i + 1 : 0;
    if (take(argument, kParentDeathSignal, value)) {
      valid = parse(value, shim.parent_death_signal);
    } else if (take(argument, kParent, value)) {
      valid = parse(value, shim.parent);
    } else if (take(argument, kUser, value)) {
      shim.user = value;
    } else if (take(argument, kOomScoreAdj, value)) {
      int score = 0;
      valid = parse(value, score);
      shim.oom_score_adj = score;
    } else if (take(argument, kCloseFrom, value)) {
      valid = parse(value, shim.close_from);
    } else {
      valid = false;
    }
    if (!valid) return 0;
  }
  return 0;
}

int set_oom_score_adj(int score) {
  std::string text = std::to_string(score);
  int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  ssize_t written = write(fd, text.data(), text.size());
  close(fd);
  return written < 0 ? -1 : 0;
}

int become(const std::string& user) {
  errno = 0;
  const passwd* entry = getpwnam(user.c_str());
  if (entry == nullptr) {
    if (errno == 0) errno = ENOENT;
    return -1;
  }
  if (initgroups(entry->pw_name, entry->pw_gid) != 0) return -1;
  if (setgid(entry->pw_gid) != 0) return -1;
  return setuid(entry->pw_uid);
}

}  // namespace

std::vector<std::string> exec_shim_command(
    std::string shim_program, const ExecShim& shim, const std::vector<std::string>& command
) {
  std::vector<std::string> line{std::move(shim_program), std::string(kExecVerb)};
  auto add = [&line](std::string_view option, const std::string& value) {
    line.push_back(std::string(option) + value);
  };
  if (shim.parent_death_signal != 0) {
    add(kParentDeathSignal, std::to_string(shim.parent_death_signal));
    if (shim.parent != 0) add(kParent, std::to_string(shim.parent));
  }
  if (!shim.user.empty()) add(kUser, shim.user);
  if (shim.oom_score_adj) add(kOomScoreAdj, std::to_string(*shim.oom_score_adj));
  add(kCloseFrom, std::to_string(shim.close_from));
  line.emplace_back(kEndOfOptions);
  line.insert(line.end(), command.begin(), command.end());
  return line;
}

int exec_shim_main(int argc, char** argv) {
  ExecShim shim;
  const int program = read_options(argc, argv, shim);
  if (program == 0) {
    errno = EINVAL;
    return fail(kExitUsage, "unreadable arguments of", kExecVerb.data());
  }
  if (shim.close_from != 0) close_range(shim.close_from, ~0U, 0);
  if (shim.oom_score_adj && set_oom_score_adj(*shim.oom_score_adj) != 0) {
    return fail(kExitOsError, "setting", "oom_score_adj");
  }
  if (!shim.user.empty() && become(shim.user) != 0) {
    return fail(kExitOsError, "becoming user", shim.user.c_str());
  }
  // After the change of user: the kernel clears the parent-death signal when credentials change.
  if (shim.parent_death_signal != 0) {
    if (prctl(PR_SET_PDEATHSIG, shim.parent_death_signal) != 0) {
      return fail(kExitOsError, "arming", "the parent-death signal");
    }
    if (shim.parent != 0 && getppid() != shim.parent) {
      errno = ESRCH;
      return fail(kExitOsError, "the parent is gone,", std::to_string(shim.parent).c_str());
    }
  }
  execv(argv[program], argv + program);
  return fail(errno == ENOENT ? kExitNotFound : kExitNotExecutable, "executing", argv[program]);
}

}  // namespace pgflow
