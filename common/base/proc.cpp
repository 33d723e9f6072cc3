#include "base/proc.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <iterator>
#include <sstream>

namespace pgflow {

// Not through a file stream: a process that ends between open and read makes read fail with ESRCH,
// which a stream buffer turns into an exception.
std::string proc_file(const std::string& path) {
  const UniqueFd file(open(("/proc/" + path).c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  char buffer[4'096];
  for (;;) {
    const ssize_t count = read(file.get(), buffer, sizeof buffer);
    if (count <= 0) return text;
    text.append(buffer, static_cast<std::size_t>(count));
  }
}

std::vector<pid_t> children_of_first_thread() {
  const std::string self = std::to_string(getpid());
  std::istringstream pids(proc_file(self + "/task/" + self + "/children"));
  return {std::istream_iterator<pid_t>(pids), {}};
}

UniqueFd open_pidfd(pid_t pid) {
  return UniqueFd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
}

std::string host_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

}  // namespace pgflow
