// Gives the tasks of dead workers back: at once, or as soon as the database is there again.
#pragma once

#include <functional>
#include <map>

#include "base/backoff.hpp"
#include "base/clock.hpp"
#include "supervisor/control/metrics.hpp"
#include "supervisor/database_link.hpp"
#include "supervisor/release_journal.hpp"
#include "uv/timer.hpp"

namespace pgflow::supervisor {

class Releaser {
 public:
  Releaser(
      uv::Loop& loop,
      DatabaseLink& database,
      ReleaseJournal journal,
      Metrics& metrics,
      std::function<void()> on_change
  );
  Releaser(const Releaser&) = delete;
  Releaser& operator=(const Releaser&) = delete;

  void add(Release release);
  // The database came back.
  void resume();
  std::size_t pending() const { return journal_.pending().size(); }

 private:
  void sync();
  void next();
  void finished(const Release& release, const Result<int>& result);

  DatabaseLink& database_;
  ReleaseJournal journal_;
  Metrics& metrics_;
  std::map<WorkerId, SteadyClock::time_point> since_;  // of those that this process added
  std::function<void()> on_change_;
  Backoff backoff_;
  uv::Timer sync_timer_;
  uv::Timer retry_timer_;
  bool asking_ = false;
};

}  // namespace pgflow::supervisor
