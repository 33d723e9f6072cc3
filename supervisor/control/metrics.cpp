#include "supervisor/control/metrics.hpp"

#include <prometheus/counter.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>

#include "base/proc.hpp"
#include "log/log.hpp"

namespace pgflow::supervisor {
namespace {

using prometheus::ClientMetric;
using prometheus::Labels;
using prometheus::MetricFamily;
using prometheus::MetricType;

// 1 ms to 1 h.
const prometheus::Histogram::BucketBoundaries kLong{
    0.001, 0.0025, 0.006, 0.015, 0.04, 0.1, 0.25, 0.6, 1.5, 4, 10, 25, 60, 150, 400, 1000, 3600
};
const prometheus::Histogram::BucketBoundaries kShort{0.001, 0.0025, 0.01, 0.025, 0.1, 0.25, 1, 5};

constexpr std::array kSlotStates{
    SlotState::down,
    SlotState::backoff,
    SlotState::queued,
    SlotState::starting,
    SlotState::ready,
    SlotState::draining,
    SlotState::killing,
    SlotState::failed
};
constexpr std::array kPoolStates{
    PoolState::failed,
    PoolState::fenced,
    PoolState::paused,
    PoolState::zero,
    PoolState::crashlooping,
    PoolState::active
};

double seconds(std::chrono::duration<double> duration) {
  return duration.count();
}

Labels pool_labels(const std::string& flow, const std::string& step) {
  return {{"flow", flow}, {"step", step}};
}

Labels with(Labels labels, std::string name, std::string value) {
  labels.emplace(std::move(name), std::move(value));
  return labels;
}

// Values that are read when they are asked for.
class Readings {
 public:
  void add(const char* name, const char* help, double value, const Labels& labels = {}) {
    add(MetricType::Gauge, name, help, value, labels);
  }
  void add_counter(const char* name, const char* help, double value) {
    add(MetricType::Counter, name, help, value, {});
  }

  void append_to(std::vector<MetricFamily>& all) && {
    std::ranges::move(families_, std::back_inserter(all));
  }

 private:
  void add(
      MetricType type, const char* name, const char* help, double value, const Labels& labels
  ) {
    auto family = std::ranges::find(families_, name, &MetricFamily::name);
    if (family == families_.end()) {
      families_.push_back({.name = name, .help = help, .type = type, .metric = {}});
      family = std::prev(families_.end());
    }
    ClientMetric& metric = family->metric.emplace_back();
    for (const auto& [label, text] : labels) metric.label.push_back({label, text});
    (type == MetricType::Counter ? metric.counter.value : metric.gauge.value) = value;
  }

  std::vector<MetricFamily> families_;
};

void read_supervisor(Readings& out, const Snapshot& now) {
  out.add(
      "pgflow_build_info",
      "What runs; always 1.",
      1,
      {{"version", PGFLOW_VERSION}, {"pg_version", std::to_string(now.database_version / 10'000)}}
  );
  out.add("pgflow_supervisor_up_seconds", "Time since the start.", seconds(now.uptime));
  out.add("pgflow_supervisor_ready_once", "Every wanted pool was ready once.", now.was_ready);
  out.add("pgflow_db_up", "The supervisor's connection stands.", now.database_up);
  out.add(
      "pgflow_release_pending",
      "Dead workers whose tasks wait to be given back.",
      now.pending_releases
  );
  out.add(
      "pgflow_fence_active", "Fences around what runs here.", static_cast<double>(now.fences.size())
  );
  out.add_counter(
      "pgflow_log_lines_dropped_total",
      "Log lines of the supervisor that nobody read in time.",
      static_cast<double>(log::lines_left_out())
  );
}

void read_pool(Readings& out, const PoolView& pool) {
  const Labels labels = pool_labels(pool.flow_slug, pool.step_slug);
  std::map<SlotState, int> states;
  int ready = 0;
  int busy = 0;
  for (const SlotView& slot : pool.slots) {
    ++states[slot.state];
    ready += slot.state == SlotState::ready ? 1 : 0;
    busy += slot.in_flight;
  }
  for (const SlotState state : kSlotStates) {
    out.add(
        "pgflow_workers",
        "Slots by state.",
        states[state],
        with(labels, "state", std::string(to_string(state)))
    );
  }
  for (const PoolState state : kPoolStates) {
    out.add(
        "pgflow_pool_state",
        "1 for the state that the pool is in.",
        pool.state == state,
        with(labels, "state", std::string(to_string(state)))
    );
  }
  out.add("pgflow_workers_desired", "Worker processes that are wanted.", pool.processes, labels);
  out.add(
      "pgflow_worker_slots",
      "Tasks that the ready workers can run at once.",
      ready * pool.max_concurrent,
      labels
  );
  out.add("pgflow_worker_slots_busy", "Tasks that they run.", busy, labels);
}

void read_queue(Readings& out, const QueueSample& sample) {
  const Labels step = pool_labels(sample.flow_slug, sample.step_slug);
  const Labels queue = with(step, "queue", sample.queue_name);
  out.add(
      "pgflow_queue_ready_messages",
      "Messages that a worker could read.",
      static_cast<double>(sample.ready),
      queue
  );
  out.add(
      "pgflow_queue_in_flight_messages",
      "Messages that a worker holds.",
      static_cast<double>(sample.in_flight),
      queue
  );
  out.add(
      "pgflow_queue_oldest_ready_age_seconds",
      "How long the oldest ready message waits.",
      sample.oldest_seconds.value_or(0),
      queue
  );
  out.add(
      "pgflow_step_live_workers",
      "Workers with a fresh heartbeat, of whatever supervisor.",
      sample.live_workers,
      step
  );
  out.add("pgflow_step_covered", "At least one of them.", sample.live_workers > 0, step);
}

// The usual names of client libraries, from /proc.
void read_process(Readings& out) {
  const std::string stat = proc_file("self/stat");
  const auto name_end = stat.rfind(')');
  if (name_end == std::string::npos) return;
  std::vector<double> fields;  // from the third on, after the state's letter
  const char* at = stat.c_str() + name_end + 3;
  for (char* end = nullptr; *at != '\0'; at = end) {
    fields.push_back(std::strtod(at, &end));
    if (end == at) break;
  }
  if (fields.size() < 21) return;
  const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  double boot = 0;
  const std::string machine = proc_file("stat");
  if (const auto line = machine.find("btime "); line != std::string::npos) {
    boot = std::strtod(machine.c_str() + line + 6, nullptr);
  }
  std::error_code ignored;
  const auto fds = std::distance(
      std::filesystem::directory_iterator("/proc/self/fd", ignored),
      std::filesystem::directory_iterator()
  );
  out.add_counter(
      "process_cpu_seconds_total",
      "Processor time of the supervisor.",
      (fields[10] + fields[11]) / ticks
  );
  out.add("process_start_time_seconds", "Its start, since the epoch.", boot + fields[18] / ticks);
  out.add("process_virtual_memory_bytes", "Its address space.", fields[19]);
  out.add(
      "process_resident_memory_bytes",
      "Its memory.",
      fields[20] * static_cast<double>(sysconf(_SC_PAGESIZE))
  );
  out.add("process_open_fds", "Its descriptors.", static_cast<double>(fds));
}

}  // namespace

struct Metrics::Counters {
  prometheus::Registry registry;

  prometheus::Family<prometheus::Counter>& counter(const char* name, const char* help) {
    return prometheus::BuildCounter().Name(name).Help(help).Register(registry);
  }
  prometheus::Family<prometheus::Histogram>& histogram(const char* name, const char* help) {
    return prometheus::BuildHistogram().Name(name).Help(help).Register(registry);
  }

  prometheus::Family<prometheus::Counter>& starts =
      counter("pgflow_worker_starts_total", "Worker processes that were started.");
  prometheus::Family<prometheus::Counter>& failed_starts = counter(
      "pgflow_worker_failed_starts_total", "Worker processes that the system did not let start."
  );
  prometheus::Family<prometheus::Counter>& exits =
      counter("pgflow_worker_exits_total", "Worker processes that ended, by reason.");
  prometheus::Family<prometheus::Counter>& watchdog_kills = counter(
      "pgflow_watchdog_kills_total", "Workers that were killed because their loop stood still."
  );
  prometheus::Family<prometheus::Counter>& tasks =
      counter("pgflow_tasks_finished_total", "Attempts that ended, by outcome.");
  prometheus::Family<prometheus::Histogram>& task_seconds =
      histogram("pgflow_task_duration_seconds", "How long attempts took.");
  prometheus::Counter& releases =
      counter("pgflow_releases_total", "Dead workers whose tasks were given back.").Add({});
  prometheus::Histogram& release_seconds =
      histogram("pgflow_release_seconds", "From a worker's end to its tasks being free.")
          .Add({}, kLong);
  prometheus::Counter& connects =
      counter("pgflow_db_reconnects_total", "Connections of the supervisor after its first.")
          .Add({});
  prometheus::Histogram& lag =
      histogram("pgflow_loop_lag_seconds", "How late the supervisor's loop was.").Add({}, kShort);
  prometheus::Family<prometheus::Counter>& requests =
      counter("pgflow_http_requests_total", "Requests to the control room.");
  bool connected_before = false;
};

Metrics::Metrics() : counters_(std::make_unique<Counters>()) {}
Metrics::~Metrics() = default;

void Metrics::worker_not_started(const std::string& flow, const std::string& step) {
  counters_->failed_starts.Add(pool_labels(flow, step)).Increment();
}

void Metrics::worker_started(const std::string& flow, const std::string& step) {
  counters_->starts.Add(pool_labels(flow, step)).Increment();
}

void Metrics::worker_exited(
    const std::string& flow, const std::string& step, const std::string& reason
) {
  counters_->exits.Add(with(pool_labels(flow, step), "reason", reason)).Increment();
  if (reason == "hung") counters_->watchdog_kills.Add(pool_labels(flow, step)).Increment();
}

void Metrics::tasks_ended(
    const std::string& flow,
    const std::string& step,
    const std::string& outcome,
    std::span<const std::int64_t> milliseconds
) {
  counters_->tasks.Add(with(pool_labels(flow, step), "outcome", outcome))
      .Increment(static_cast<double>(milliseconds.size()));
  prometheus::Histogram& took = counters_->task_seconds.Add(pool_labels(flow, step), kLong);
  for (const std::int64_t each : milliseconds) took.Observe(static_cast<double>(each) / 1000);
}

void Metrics::released(std::chrono::milliseconds after) {
  counters_->releases.Increment();
  counters_->release_seconds.Observe(seconds(after));
}

void Metrics::database_connected() {
  if (std::exchange(counters_->connected_before, true)) counters_->connects.Increment();
}

void Metrics::loop_late(SteadyClock::duration late) {
  counters_->lag.Observe(std::max(0.0, seconds(late)));
}

void Metrics::answered(std::string_view route, int status) {
  counters_->requests
      .Add(
          {{"route", route.empty() ? "none" : std::string(route)}, {"code", std::to_string(status)}}
      )
      .Increment();
}

void Metrics::sampled(std::vector<QueueSample> samples) {
  samples_ = std::move(samples);
  sampled_at_ = SteadyClock::now();
}

std::string Metrics::text(const Snapshot& snapshot) const {
  Readings readings;
  read_supervisor(readings, snapshot);
  for (const PoolView& pool : snapshot.pools) read_pool(readings, pool);
  for (const QueueSample& sample : samples_) read_queue(readings, sample);
  if (sampled_at_) {
    readings.add(
        "pgflow_queue_sample_age_seconds",
        "How old the numbers of the queues are.",
        seconds(SteadyClock::now() - *sampled_at_)
    );
  }
  read_process(readings);
  std::vector<MetricFamily> all = counters_->registry.Collect();
  std::move(readings).append_to(all);
  return prometheus::TextSerializer().Serialize(all);
}

}  // namespace pgflow::supervisor
