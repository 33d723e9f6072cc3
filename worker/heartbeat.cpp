#include "worker/heartbeat.hpp"

#include <utility>

#include "log/log.hpp"

namespace pgflow::worker {
namespace {

// Others count a worker as alive for 6 seconds after a heartbeat: two may get lost.
constexpr std::chrono::seconds kInterval{2};

}  // namespace

Heartbeat::Heartbeat(
    uv::Loop& loop,
    pg::ConnectionOptions options,
    WorkerId worker_id,
    std::function<void(Pulse)> on_pulse
)
    : worker_id_(worker_id),
      on_pulse_(std::move(on_pulse)),
      link_(
          loop,
          std::move(options),
          {.up = [this] { beat(); },
           // The work connection reports the database's state; here is nothing to add.
           .down = [this](const Error&) { asking_ = false; }}
      ),
      timer_(loop, [this] { beat(); }) {}

void Heartbeat::start() {
  last_ = SteadyClock::now();
  link_.open();
  timer_.start(kInterval, kInterval);
}

void Heartbeat::stop() {
  timer_.stop();
  link_.close();
}

std::chrono::milliseconds Heartbeat::silence() const {
  return std::chrono::duration_cast<std::chrono::milliseconds>(SteadyClock::now() - last_);
}

void Heartbeat::beat() {
  if (asking_ || !link_.is_up()) return;
  asking_ = true;
  store::WorkerStore(link_.connection())
      .heartbeat(worker_id_, [this](const Result<store::Heartbeat>& reply) {
        asking_ = false;
        if (!reply) {
          log::warn("heartbeat.failed", reply.error());
          if (pg::remedy(reply.error()) == pg::Remedy::reconnect) link_.renew(reply.error());
          return;
        }
        last_ = SteadyClock::now();
        if (!reply->known) return on_pulse_(Pulse::disowned);
        if (reply->deprecated) on_pulse_(Pulse::deprecated);
      });
}

}  // namespace pgflow::worker
