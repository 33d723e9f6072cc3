#include "store/wake_listener.hpp"

#include <chrono>
#include <utility>

#include "base/uuid.hpp"
#include "log/log.hpp"

namespace pgflow::store {
namespace {

constexpr std::string_view kChannel = "pgflow_wake";
constexpr pg::Query kBackend{"listen_backend", "select pg_catalog.pg_backend_pid()"};
constexpr pg::Query kListen{"listen", "listen pgflow_wake"};
constexpr std::string_view kFenceChannel = "pgflow_fences";
constexpr pg::Query kListenToFences{"listen_fences", "listen pgflow_fences"};
constexpr pg::Query kTest{"listen_test", "select pg_catalog.pg_notify('pgflow_wake', $1::text)"};
constexpr std::chrono::seconds kTestLimit{1};

}  // namespace

WakeListener::WakeListener(
    uv::Loop& loop,
    pg::Connection& connection,
    std::function<void(std::string_view queue_name)> on_wake
)
    : connection_(connection),
      on_wake_(std::move(on_wake)),
      // No queue is called so: a queue's name has no colon.
      token_("test:" + uuid_text(random_uuid())),
      test_timer_(loop, [this] { deaf("The connection accepts LISTEN and delivers nothing."); }) {
  connection_.on_notification([this](std::string_view channel, std::string_view payload) {
    heard(channel, payload);
  });
}

void WakeListener::listen() {
  forget();
  connection_.query(kBackend, {}, [this](const Result<pg::Rows>& backend) {
    if (!backend) return deaf(backend.error().message);
    // A LISTEN would stay behind at a server connection that is lent to somebody else next.
    if ((*backend)[0][0].integer() != connection_.backend_pid()) {
      return deaf("A connection pooler stands between.");
    }
    connection_.query(kListen, {}, [this](const Result<pg::Rows>& done) {
      if (!done) return deaf(done.error().message);
      if (on_fence_) connection_.query(kListenToFences, {}, [](const Result<pg::Rows>&) {});
      connection_.query(kTest, {token_}, [this](const Result<pg::Rows>& sent) {
        if (sent && !hears_) test_timer_.start(kTestLimit);
      });
    });
  });
}

void WakeListener::forget() {
  hears_ = false;
  test_timer_.stop();
}

void WakeListener::heard(std::string_view channel, std::string_view payload) {
  if (channel == kFenceChannel && on_fence_) return on_fence_();
  if (channel != kChannel) return;
  if (payload == token_) {
    hears_ = true;
    log::debug("wake_ups.on");
    return test_timer_.stop();
  }
  on_wake_(payload);
}

void WakeListener::deaf(std::string_view why) {
  if (std::exchange(told_deaf_, true)) return;
  log::info(
      "wake_ups.off",
      {{"why", why},
       {"hint", "Queues are polled instead; over a direct connection starts would be heard at once."
       }}
  );
}

}  // namespace pgflow::store
