// What a supervisor counts, and the text that Prometheus reads.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "supervisor/snapshot.hpp"

namespace pgflow::supervisor {

// One queue, as the database says.
struct QueueSample {
  std::string flow_slug;
  std::string step_slug;  // empty in queue mode "flow"
  std::string queue_name;
  std::int64_t ready = 0;                // messages that a worker could read now
  std::int64_t in_flight = 0;            // messages that a worker holds
  std::optional<double> oldest_seconds;  // how long the oldest ready one waits
  int live_workers = 0;                  // of whatever supervisor
};

class Metrics {
 public:
  Metrics();
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  // What happened; any thread.
  void worker_started(const std::string& flow, const std::string& step);
  void worker_not_started(const std::string& flow, const std::string& step);
  void worker_exited(const std::string& flow, const std::string& step, const std::string& reason);
  void tasks_ended(
      const std::string& flow,
      const std::string& step,
      const std::string& outcome,
      std::span<const std::int64_t> milliseconds
  );
  // A dead worker's tasks are back, so long after its end was seen.
  void released(std::chrono::milliseconds after);
  void database_connected();
  void loop_late(SteadyClock::duration late);
  void answered(std::string_view route, int status);

  // The loop's thread.
  void sampled(std::vector<QueueSample> samples);
  std::string text(const Snapshot& snapshot) const;

 private:
  struct Counters;
  std::unique_ptr<Counters> counters_;
  std::vector<QueueSample> samples_;
  std::optional<SteadyClock::time_point> sampled_at_;
};

}  // namespace pgflow::supervisor
