#include "worker/supervisor_link.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <utility>

#include "log/log.hpp"

namespace pgflow::worker {
namespace {

// A supervisor that is stopped for so long loses messages instead of costing us memory without end.
constexpr std::size_t kMostUnsent = 10'000;

}  // namespace

SupervisorLink::SupervisorLink(uv::Loop& loop, int socket, Events events)
    : socket_(socket), events_(std::move(events)), poll_(loop, socket, [this](uv::Ready ready) {
        if (ready.readable || ready.failed) receive();
        if (ready.writable && !lost_) write_outbox();
      }) {
  poll_.watch(true, false);
}

void SupervisorLink::send(const contract::FromWorker& message) {
  if (lost_ || deaf_ || outbox_.size() >= kMostUnsent) return;
  outbox_.push_back(contract::encode(message));
  write_outbox();
}

void SupervisorLink::flush() {
  constexpr int kMilliseconds = 500;
  while (!outbox_.empty()) {
    pollfd ready{.fd = socket_, .events = POLLOUT, .revents = 0};
    if (::poll(&ready, 1, kMilliseconds) <= 0) return;
    write_outbox();
  }
}

void SupervisorLink::receive() {
  std::array<char, contract::kMaxPacketBytes> packet;
  while (!lost_) {
    const ssize_t size = ::recv(socket_, packet.data(), packet.size(), MSG_DONTWAIT);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (size <= 0) return lose();
    const auto message =
        contract::decode_from_supervisor({packet.data(), static_cast<std::size_t>(size)});
    if (message) {
      events_.message(*message);
    } else {
      log::warn("supervisor.bad_message", message.error());
    }
  }
}

void SupervisorLink::write_outbox() {
  while (!outbox_.empty()) {
    const std::string& packet = outbox_.front();
    // A vanished supervisor must be an error code, not a SIGPIPE.
    if (::send(socket_, packet.data(), packet.size(), MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) {
      outbox_.pop_front();
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      break;
    } else if (errno != EINTR) {
      // Gone. Told by the end of the stream, not from here: a caller of send() is in the middle of
      // something else.
      deaf_ = true;
      outbox_.clear();
    }
  }
  poll_.watch(true, !outbox_.empty());
}

void SupervisorLink::lose() {
  lost_ = true;
  poll_.stop();
  events_.lost();
}

}  // namespace pgflow::worker
