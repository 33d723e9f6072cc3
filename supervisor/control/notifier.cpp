#include "supervisor/control/notifier.hpp"

#include <fmt/format.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>

namespace pgflow::supervisor {
namespace {

using namespace std::chrono_literals;

constexpr auto kExtendEvery = 5s;
constexpr auto kExtension = 15s;  // a supervisor that stands still while stopping ends after it

std::string taken_from_environment(const char* name) {
  const char* value = getenv(name);
  std::string text = value == nullptr ? "" : value;
  unsetenv(name);
  return text;
}

std::string status_of(const Snapshot& now) {
  if (now.phase == Phase::starting) return "starting";
  std::size_t wanted = 0;
  std::ptrdiff_t ready = 0;
  std::string odd;
  for (const PoolView& pool : now.pools) {
    wanted += static_cast<std::size_t>(pool.processes);
    ready += std::ranges::count(pool.slots, SlotState::ready, &SlotView::state);
    if (pool.state == PoolState::active || pool.state == PoolState::zero) continue;
    odd += fmt::format(
        ", {}{}{} {}",
        pool.flow_slug,
        pool.step_slug.empty() ? "" : "/",
        pool.step_slug,
        to_string(pool.state)
    );
  }
  return fmt::format(
      "{}{}/{} ready{}{}",
      now.phase == Phase::running ? "" : fmt::format("{}, ", to_string(now.phase)),
      ready,
      wanted,
      odd,
      now.database_up ? "" : ", database down"
  );
}

}  // namespace

Notifier::Notifier(uv::Loop& loop)
    : path_(taken_from_environment("NOTIFY_SOCKET")),
      watchdog_timer_(loop, [this] { send("WATCHDOG=1"); }),
      extend_timer_(loop, [this] { extend(); }) {
  const std::chrono::microseconds watchdog(
      std::strtoll(taken_from_environment("WATCHDOG_USEC").c_str(), nullptr, 10)
  );
  unsetenv("WATCHDOG_PID");
  if (path_.empty()) return;
  fd_ = UniqueFd(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const auto half = std::chrono::duration_cast<std::chrono::milliseconds>(watchdog / 2);
  if (half > 0ms) watchdog_timer_.start(half, half);
}

void Notifier::show(const Snapshot& now) {
  if (!is_wanted()) return;
  if (now.was_ready && !std::exchange(ready_, true)) send("READY=1");
  if (now.phase == Phase::stopping && !std::exchange(stopping_, true)) {
    send("STOPPING=1");
    extend();
    extend_timer_.start(kExtendEvery, kExtendEvery);
  }
  std::string status = "STATUS=" + status_of(now);
  if (status != status_) {
    send(status);
    status_ = std::move(status);
  }
}

// Again and again while workers finish: the manager's own limit does not cut the drain short, and
// ours does not grow.
void Notifier::extend() {
  send(fmt::format("EXTEND_TIMEOUT_USEC={}", std::chrono::microseconds(kExtension).count()));
}

// A manager that is slow to read gets the lines later, all at once: READY must not be lost.
void Notifier::send(std::string_view line) {
  if (unsent_.find(line) == std::string::npos) unsent_ += fmt::format("{}\n", line);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path_.size() >= sizeof address.sun_path) return;
  path_.copy(address.sun_path, path_.size());
  if (path_[0] == '@') address.sun_path[0] = '\0';  // an abstract one
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path_.size());
  const ssize_t sent = sendto(
      fd_.get(),
      unsent_.data(),
      unsent_.size(),
      MSG_NOSIGNAL,
      reinterpret_cast<const sockaddr*>(&address),
      size
  );
  // Only the slow reader is worth another try.
  if (sent >= 0 || errno != EAGAIN) unsent_.clear();
}

}  // namespace pgflow::supervisor
