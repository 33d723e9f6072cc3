#include "worker/link.hpp"

#include <utility>

namespace pgflow::worker {
namespace {

// Quick after a restart of the server, gentle to one that is gone for long.
constexpr Backoff::Limits kPauses{
    .first = std::chrono::milliseconds(100),
    .most = std::chrono::milliseconds(5'000),
    .least = std::chrono::milliseconds(20),
};

}  // namespace

Link::Link(uv::Loop& loop, pg::ConnectionOptions options, Events events)
    : events_(std::move(events)),
      backoff_(kPauses),
      connection_(loop, std::move(options)),
      again_(loop, [this] { come_back(); }) {
  connection_.on_lost([this](const Error& why) { lost(why); });
}

void Link::open() {
  connect();
}

void Link::renew(const Error& why) {
  connection_.close();
  lost(why);
}

void Link::admit() {
  if (std::exchange(asks_, false)) connect();
}

void Link::close() {
  asks_ = false;
  again_.stop();
  connection_.close();
}

void Link::come_back() {
  if (!events_.ask) return connect();
  asks_ = true;
  events_.ask();
}

void Link::connect() {
  connection_.connect([this](const Result<void>& connected) {
    if (!connected) return lost(connected.error());
    events_.up();
  });
}

void Link::lost(const Error& why) {
  again_.start(backoff_.next());
  events_.down(why);  // last: it may close us
}

}  // namespace pgflow::worker
