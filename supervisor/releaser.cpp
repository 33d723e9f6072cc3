#include "supervisor/releaser.hpp"

#include "log/log.hpp"
#include "pg/sqlstate.hpp"

namespace pgflow::supervisor {

Releaser::Releaser(
    uv::Loop& loop,
    DatabaseLink& database,
    ReleaseJournal journal,
    Metrics& metrics,
    std::function<void()> on_change
)
    : database_(database),
      journal_(std::move(journal)),
      metrics_(metrics),
      on_change_(std::move(on_change)),
      sync_timer_(loop, [this] { sync(); }),
      retry_timer_(loop, [this] { next(); }) {}

void Releaser::add(Release release) {
  since_.emplace(release.worker_id, SteadyClock::now());
  if (const auto written = journal_.add(std::move(release)); !written) {
    log::error("journal.not_written", written.error());
  }
  on_change_();
  // The first one at once, the others of this turn together: the disk takes its time for each.
  if (sync_timer_.is_running()) return;
  sync();
  sync_timer_.start(std::chrono::milliseconds(0));
}

// Durable before the call: whoever starts next repeats what this process could not finish.
void Releaser::sync() {
  if (const auto written = journal_.sync(); !written) {
    log::error("journal.not_written", written.error());
  }
  next();
}

void Releaser::resume() {
  backoff_.reset();
  next();
}

void Releaser::next() {
  if (asking_ || sync_timer_.is_running() || retry_timer_.is_running() ||
      journal_.pending().empty() || !database_.up())
    return;
  asking_ = true;
  const Release release = journal_.pending().front();
  store::WorkerStore(database_.connection())
      .release(release, [this, release](const Result<int>& result) { finished(release, result); });
}

void Releaser::finished(const Release& release, const Result<int>& result) {
  asking_ = false;
  if (result) {
    journal_.done(release.worker_id);
    if (const auto since = since_.extract(release.worker_id)) {
      metrics_.released(
          std::chrono::duration_cast<std::chrono::milliseconds>(SteadyClock::now() - since.mapped())
      );
    }
    backoff_.reset();
    log::info(
        "worker.released",
        {{"worker_id", release.worker_id}, {"tasks", *result}, {"guilty", release.guilty.size()}}
    );
  } else if (!pg::is_database_down(result.error())) {
    // Never given up: the timeout of the tasks is the last net, this is the first.
    log::warn("worker.not_released", result.error(), {{"worker_id", release.worker_id}});
    journal_.postpone(release.worker_id);
    retry_timer_.start(backoff_.next());
  } else if (database_.up()) {
    // The server refuses although the connection lives, e.g. while it switches over.
    retry_timer_.start(backoff_.next());
  }
  on_change_();
  next();
}

}  // namespace pgflow::supervisor
