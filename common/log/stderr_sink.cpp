#include "log/stderr_sink.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/unique_fd.hpp"

namespace pgflow::log {
namespace {

// For a reader that is only slow. Once a line was left out, none waits until there is room again.
constexpr int kPatienceMs = 250;

// A pipe is shared with whoever else writes to it: between a look and a write they may fill it. A
// description of our own does not block, and leaves theirs as it is.
UniqueFd own_description() {
  struct stat what{};
  if (::fstat(STDERR_FILENO, &what) != 0 || !S_ISFIFO(what.st_mode)) return UniqueFd();
  return UniqueFd(::open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_CLOEXEC));
}

}  // namespace

void StderrSink::sink_it_(const spdlog::details::log_msg& message) {
  const bool caught_up = left_out_ == 0 || put(told_(left_out_));
  if (caught_up) left_out_ = 0;
  const std::string_view text(message.payload.data(), message.payload.size());
  if (caught_up && put(std::string(text) + "\n")) return;
  ++left_out_;
  all_left_out_.fetch_add(1, std::memory_order_relaxed);
}

bool StderrSink::put(std::string_view line) {
  const UniqueFd own = own_description();
  const int fd = own ? own.get() : STDERR_FILENO;
  const std::string whole = (torn_ ? "\n" : "") + std::string(line);
  std::string_view rest = whole;
  while (!rest.empty()) {
    pollfd room{fd, POLLOUT, 0};
    const int ready = ::poll(&room, 1, left_out_ > 0 ? 0 : kPatienceMs);
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0) break;
    // Nobody is there to read it; writing would bring a SIGPIPE.
    if ((room.revents & POLLERR) != 0) return true;
    const ssize_t count = ::write(fd, rest.data(), rest.size());
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count < 0) return true;
    rest.remove_prefix(static_cast<std::size_t>(count));
  }
  if (rest.size() < whole.size()) torn_ = !rest.empty();
  return rest.empty();
}

}  // namespace pgflow::log
