#include "worker/heartbeat.hpp"

#include <utility>

#include "log/log.hpp"

namespace pgflow::worker {
namespace {

// Others count a worker as alive for 6 seconds after a heartbeat: two may get lost.
constexpr std::chrono::seconds kInterval{2};

}  // namespace

Heartbeat::Heartbeat(
    uv::Loop& loop, pg::ConnectionOptions options, WorkerId worker_id, Events events
)
    : worker_id_(worker_id),
      events_(std::move(events)),
      link_(
          loop,
          std::move(options),
          {.up =
               [this] {
                 beat();
                 if (ears_) ears_->listen();
               },
           // The work connection reports the database's state; here is nothing to add.
           .down =
               [this](const Error&) {
                 asking_ = false;
                 if (ears_) ears_->forget();
               },
           .ask = events_.ask}
      ),
      timer_(loop, [this] { beat(); }) {
  if (events_.wake) ears_.emplace(loop, link_.connection(), events_.wake);
}

void Heartbeat::start(std::chrono::milliseconds limit) {
  limit_ = limit;
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

void Heartbeat::tell_when_unheard() {
  if (!unheard() || std::exchange(told_unheard_, true)) return;
  log::warn(
      "worker.unheard",
      {{"silent_ms", silence()},
       {"limit_ms", limit_},
       {"hint",
        "No heartbeat has reached pgflow.workers: is the database away, or does somebody hold a "
        "lock there (pg_blocking_pids)? The worker takes no new tasks until one does."}}
  );
}

void Heartbeat::beat() {
  tell_when_unheard();
  if (asking_) return;
  ++beats_;
  if (!link_.is_up()) return;
  asking_ = true;
  store::WorkerStore(link_.connection())
      .heartbeat(worker_id_, events_.in_hand(), [this](const Result<store::Heartbeat>& reply) {
        asking_ = false;
        if (!reply) {
          if (pg::is_database_down(reply.error())) return link_.renew(reply.error());
          return log::warn("heartbeat.failed", reply.error());
        }
        if (std::exchange(told_unheard_, false)) {
          log::info("worker.heard_again", {{"silent_ms", silence()}});
        }
        last_ = SteadyClock::now();
        link_.proven();
        for (const store::TaskInHand& task : reply->lost) events_.lost(task);
        if (!reply->known) return events_.pulse(Pulse::disowned);
        if (reply->deprecated) events_.pulse(Pulse::deprecated);
      });
}

}  // namespace pgflow::worker
