#include "supervisor/supervisor.hpp"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "base/exit_code.hpp"
#include "base/uuid.hpp"
#include "contract/manifest.hpp"
#include "log/log.hpp"
#include "settings/load.hpp"
#include "store/flow_store.hpp"
#include "store/maintenance_store.hpp"
#include "store/migrator.hpp"
#include "store/refusal.hpp"
#include "store/wake_listener.hpp"
#include "supervisor/database_link.hpp"
#include "supervisor/describe.hpp"
#include "supervisor/instance_lock.hpp"
#include "supervisor/orphan_watch.hpp"
#include "supervisor/process_tree.hpp"
#include "supervisor/releaser.hpp"
#include "supervisor/slot.hpp"
#include "uv/signal.hpp"
#include "uv/timer.hpp"

namespace pgflow::supervisor {
namespace {

using namespace std::chrono_literals;

constexpr auto kTick = 1s;                // watchdog, reaping
constexpr auto kStoodStill = 3s;          // a tick this late: we slept, not the workers
constexpr auto kRequeueInterval = 15s;    // the last net, as upstream's cron job
constexpr auto kSecondInterrupt = 250ms;  // a bouncing Ctrl-C is one
constexpr auto kLastReleases = 5s;        // how long a stop waits for the database
constexpr auto kPermissionRetry = 100ms;  // while the spawn budget is used up

void tell(const Error& error) {
  std::fprintf(stderr, "error: %s\n", error.message.c_str());
  if (!error.detail.empty()) std::fprintf(stderr, "detail: %s\n", error.detail.c_str());
  if (!error.hint.empty()) std::fprintf(stderr, "hint: %s\n", error.hint.c_str());
}

ExitCode refused(const Error& by_the_database) {
  tell(store::with_hint(by_the_database));
  return store::exit_code_of(by_the_database);
}

class Supervisor : public SlotHost {
 public:
  Supervisor(settings::Settings settings, SupervisorOptions options);

  int run();

 private:
  // The steps of a start, in their order. Nothing: go on; else the exit code.
  using Step = std::optional<ExitCode>;
  Step take_the_lock();
  Step open_the_journal();
  Step describe_the_flows();
  Step reach_the_database();
  Step check_the_schema();
  Step compile_the_flows();
  Step fill_the_slots();

  // A stop.
  void on_signal(int number);
  void stop_gracefully(std::string_view why);
  void stop_at_once();
  void finish_if_empty();

  // Every second.
  void tick();
  void requeue_stalled();
  void on_database_change();

  // Starts, one after the other.
  void give_permissions();

  // SlotHost
  void ask_permission(Slot& slot) override;
  void leave_queue(Slot& slot) override;
  void release(Release release) override;
  void pool_failed(Pool& pool, const std::string& reason) override;
  void wake_queue(std::string_view queue_name, const Slot* except) override;
  void changed() override;
  bool database_up() const override { return database_.up(); }
  const settings::Settings& settings() const override { return settings_; }
  const std::string& generation() const override { return generation_; }

  Snapshot snapshot() const;
  template <class T, class Start>
  std::optional<Result<T>> ask(Start start);

  const settings::Settings settings_;
  const SupervisorOptions options_;
  const std::string generation_ = uuid_text(random_uuid());
  uv::Loop loop_;

  // Held until the end.
  UniqueFd lock_;

  Phase phase_ = Phase::starting;
  bool stop_wanted_ = false;  // before `stopping`: a signal during the start
  bool forced_ = false;
  SteadyClock::time_point stop_signal_at_;
  std::optional<SteadyClock::time_point> empty_since_;

  DatabaseLink database_;
  store::WakeListener ears_;
  std::optional<Releaser> releaser_;
  OrphanWatch orphans_;

  std::vector<contract::Manifest> manifests_;  // as settings_.flows
  std::vector<std::string> compiled_;          // as settings_.flows
  std::vector<std::unique_ptr<Pool>> pools_;
  std::vector<std::unique_ptr<Slot>> slots_;

  std::deque<Slot*> queue_;
  bool giving_permissions_ = false;
  SpawnBudget budget_;

  SteadyClock::time_point ticked_at_;
  uv::Timer tick_timer_;
  uv::Timer requeue_timer_;
  uv::Timer permission_timer_;
  uv::Timer observer_timer_;
  uv::Timer finish_timer_;
  std::vector<std::unique_ptr<uv::Signal>> signals_;
};

Supervisor::Supervisor(settings::Settings settings, SupervisorOptions options)
    : settings_(std::move(settings)),
      options_(std::move(options)),
      database_(loop_, settings_.database, [this] { on_database_change(); }),
      ears_(
          loop_,
          database_.connection(),
          [this](std::string_view queue) { wake_queue(queue, nullptr); }
      ),
      orphans_(
          loop_,
          settings_.supervisor.shutdown_deadline + settings_.supervisor.kill_margin,
          [this](WorkerId dead) {
            release({dead, "Worker process lost its supervisor and ended.", {}});
          }
      ),
      budget_(settings_.supervisor.max_spawns_per_second, SteadyClock::now()),
      tick_timer_(loop_, [this] { tick(); }),
      requeue_timer_(loop_, [this] { requeue_stalled(); }),
      permission_timer_(loop_, [this] { give_permissions(); }),
      observer_timer_(loop_, [this] { options_.observer(snapshot()); }),
      finish_timer_(loop_, [this] { finish_if_empty(); }) {
  ::signal(SIGPIPE, SIG_IGN);
  for (const int number : {SIGTERM, SIGINT, SIGQUIT, SIGHUP}) {
    signals_.push_back(std::make_unique<uv::Signal>(loop_, number, [this](int caught) {
      on_signal(caught);
    }));
  }
  become_subreaper();
}

int Supervisor::run() {
  for (auto step :
       {&Supervisor::take_the_lock,
        &Supervisor::open_the_journal,
        &Supervisor::describe_the_flows,
        &Supervisor::reach_the_database,
        &Supervisor::check_the_schema,
        &Supervisor::compile_the_flows,
        &Supervisor::fill_the_slots}) {
    if (stop_wanted_) return number(ExitCode::ok);
    if (const Step failed = (this->*step)()) return number(*failed);
  }
  loop_.run();
  phase_ = Phase::stopped;
  if (options_.observer) options_.observer(snapshot());
  log::info("supervisor.stopped", {{"forced", forced_}});
  return number(forced_ ? ExitCode::forced : ExitCode::ok);
}

// --- the start

Supervisor::Step Supervisor::take_the_lock() {
  auto lock = lock_state_dir(settings_.supervisor.state_dir);
  if (!lock) {
    tell(lock.error());
    return ExitCode::locked;
  }
  lock_ = std::move(*lock);
  log::info(
      "supervisor.starting",
      {{"name", settings_.supervisor.name},
       {"config", settings_.file.string()},
       {"state_dir", settings_.supervisor.state_dir.string()},
       {"generation", generation_}}
  );
  changed();
  return {};
}

Supervisor::Step Supervisor::open_the_journal() {
  auto journal = ReleaseJournal::open(settings_.supervisor.state_dir / "releases.jsonl");
  if (!journal) {
    tell(journal.error());
    return ExitCode::locked;
  }
  if (!journal->pending().empty()) {
    log::info("journal.replayed", {{"releases", journal->pending().size()}});
  }
  releaser_.emplace(loop_, database_, std::move(*journal), [this] {
    changed();
    // A dead worker's tasks are back, in whatever queue.
    for (const auto& slot : slots_) slot->wake();
    if (phase_ == Phase::stopping) finish_if_empty();
  });
  return {};
}

Supervisor::Step Supervisor::describe_the_flows() {
  std::vector<settings::Problem> problems;
  for (const auto& flow : settings_.flows) {
    auto manifest = describe(loop_, flow, [this] { return stop_wanted_; });
    if (!manifest) {
      if (stop_wanted_) return ExitCode::ok;
      tell(manifest.error());
      return manifest.error().kind == "no_program" ? ExitCode::config : ExitCode::bad_definition;
    }
    const auto mode =
        manifest->queue_mode == "flow" ? settings::QueueMode::flow : settings::QueueMode::step;
    for (auto& problem : settings::check_steps(settings_, flow, mode, manifest->step_slugs)) {
      problems.push_back(std::move(problem));
    }
    manifests_.push_back(std::move(*manifest));
  }
  std::fputs(settings::text_of(problems).c_str(), stderr);
  const bool wrong = std::any_of(problems.begin(), problems.end(), [](const auto& problem) {
    return !problem.warning;
  });
  if (wrong) return ExitCode::config;
  compiled_.resize(manifests_.size());
  return {};
}

Supervisor::Step Supervisor::reach_the_database() {
  if (const auto& error = database_.hopeless()) {
    return refused(*error);
  }
  database_.start();
  while (!database_.up()) {
    if (stop_wanted_) return ExitCode::ok;
    loop_.run_once();
  }
  return {};
}

Supervisor::Step Supervisor::check_the_schema() {
  const auto status = ask<store::SchemaStatus>([this](auto done) {
    store::Migrator(database_.connection()).status(std::move(done));
  });
  if (!status) return ExitCode::ok;
  if (!*status) {
    return refused(status->error());
  }
  if (const auto problem = store::schema_problem(**status)) {
    tell(*problem);
    return ExitCode::config;
  }
  // Only now is there anything that releases could be made with.
  releaser_->resume();
  orphans_.start(settings_.supervisor.state_dir);
  return {};
}

Supervisor::Step Supervisor::compile_the_flows() {
  for (std::size_t i = 0; i < manifests_.size(); ++i) {
    const contract::Manifest& manifest = manifests_[i];
    store::CompileRequest request{
        .flow_slug = manifest.flow_slug,
        .shape = manifest.shape_json,
        .queue_mode = manifest.queue_mode == "flow" ? QueueMode::flow : QueueMode::step,
    };
    for (const auto& route : manifest.routes) {
      request.routes.push_back(
          {route.step_slug, static_cast<std::size_t>(route.step_index), route.queue_name}
      );
    }
    const auto outcome = ask<store::CompileOutcome>([&](auto done) {
      store::FlowStore(database_.connection()).ensure_compiled(request, std::move(done));
    });
    if (!outcome) return ExitCode::ok;
    if (!*outcome) {
      return refused(outcome->error());
    }
    if ((*outcome)->status == store::CompileStatus::mismatch) {
      tell(store::mismatch_error(manifest.flow_slug, **outcome));
      return ExitCode::config;
    }
    compiled_[i] = store::name((*outcome)->status);
    log::info(
        "flow.compiled",
        {{"flow", manifest.flow_slug}, {"queue_mode", manifest.queue_mode}, {"status", compiled_[i]}
        }
    );
    changed();
  }
  return {};
}

Supervisor::Step Supervisor::fill_the_slots() {
  phase_ = Phase::running;
  for (std::size_t i = 0; i < settings_.flows.size(); ++i) {
    for (const auto& step : settings_.flows[i].steps) {
      pools_.push_back(std::unique_ptr<Pool>(new Pool{settings_.flows[i], step, manifests_[i]}));
      for (int n = 1; n <= step.processes; ++n) {
        slots_.push_back(std::make_unique<Slot>(loop_, *this, *pools_.back(), n));
      }
    }
  }
  ticked_at_ = SteadyClock::now();
  tick_timer_.start(kTick, kTick);
  releaser_->resume();
  requeue_timer_.start(kRequeueInterval, kRequeueInterval);
  log::info("supervisor.running", {{"slots", slots_.size()}});
  for (const auto& slot : slots_) slot->want_up();
  changed();
  return {};
}

// The answer to a question of the start, asked again while the database comes and goes; nothing
// when a stop is wanted before.
template <class T, class Start>
std::optional<Result<T>> Supervisor::ask(Start start) {
  for (;;) {
    auto answer = std::make_shared<std::optional<Result<T>>>();
    if (database_.up()) {
      start([answer](Result<T> result) { answer->emplace(std::move(result)); });
      while (!*answer && !stop_wanted_) loop_.run_once();
    } else {
      loop_.run_once();
    }
    if (stop_wanted_) return std::nullopt;
    if (*answer && (**answer || !pg::is_transient((*answer)->error()))) return std::move(**answer);
  }
}

// --- the stop

void Supervisor::on_signal(int number) {
  const auto now = SteadyClock::now();
  if (number == SIGHUP && isatty(STDIN_FILENO) == 0) {
    log::warn("signal.ignored", {{"signal", "HUP"}, {"reason", "restart to read a new config"}});
    return;
  }
  if (phase_ == Phase::starting) {
    stop_wanted_ = true;
    return;
  }
  if (phase_ == Phase::running) {
    stop_signal_at_ = now;
    return stop_gracefully(sigabbrev_np(number));
  }
  // TERM may come ten times, from a service manager and from a container at once: one drain.
  const bool impatient =
      number == SIGQUIT || (number == SIGINT && now - stop_signal_at_ >= kSecondInterrupt);
  if (impatient) stop_at_once();
}

void Supervisor::stop_gracefully(std::string_view why) {
  phase_ = Phase::stopping;
  log::info(
      "supervisor.stopping",
      {{"signal", why}, {"deadline_ms", settings_.supervisor.shutdown_deadline}}
  );
  for (const auto& slot : slots_) {
    slot->want_down(settings_.supervisor.shutdown_deadline, "shutdown");
  }
  changed();
  finish_if_empty();
}

void Supervisor::stop_at_once() {
  if (forced_) return;
  forced_ = true;
  log::warn("supervisor.stopping_at_once");
  for (const auto& slot : slots_) slot->kill();
  finish_if_empty();
}

// The last process is reaped: the tasks of the dead go back, then the loop ends.
void Supervisor::finish_if_empty() {
  const bool empty = std::none_of(slots_.begin(), slots_.end(), [](const auto& slot) {
    return has_process(slot->state());
  });
  if (!empty || phase_ != Phase::stopping) return;
  const auto now = SteadyClock::now();
  if (!empty_since_) empty_since_ = now;
  if (releaser_->pending() > 0) {
    if (now - *empty_since_ < kLastReleases) return finish_timer_.start(50ms);
    log::warn(
        "releases.left",
        {{"releases", releaser_->pending()},
         {"error_hint", "The next start on this state_dir gives the tasks back."}}
    );
  }
  loop_.stop();
}

// --- while it runs

void Supervisor::tick() {
  const auto now = SteadyClock::now();
  const bool grace = now - ticked_at_ > kStoodStill;
  ticked_at_ = now;
  reap_strangers();
  for (const auto& slot : slots_) slot->check_watchdog(now, grace);
}

void Supervisor::requeue_stalled() {
  if (!database_.up()) return;
  store::MaintenanceStore(database_.connection()).requeue_stalled([](const Result<int>& result) {
    if (!result && !pg::is_database_down(result.error())) {
      log::warn("tasks.not_requeued", result.error());
    } else if (result && *result > 0) {
      log::warn("tasks.requeued", {{"tasks", *result}});
    }
  });
}

void Supervisor::on_database_change() {
  if (database_.up()) {
    ears_.listen();
    if (releaser_ && phase_ != Phase::starting) releaser_->resume();
    give_permissions();
  } else {
    ears_.forget();
  }
  changed();
}

void Supervisor::wake_queue(std::string_view queue_name, const Slot* except) {
  for (const auto& slot : slots_) {
    if (slot.get() != except && slot->queue_name() == queue_name) slot->wake();
  }
}

void Supervisor::ask_permission(Slot& slot) {
  queue_.push_back(&slot);
  // Not from inside the slot's own transition.
  if (!permission_timer_.is_running()) permission_timer_.start(0ms);
}

void Supervisor::leave_queue(Slot& slot) {
  std::erase(queue_, &slot);
}

void Supervisor::give_permissions() {
  while (!queue_.empty() && database_.up()) {
    const auto starting = std::count_if(slots_.begin(), slots_.end(), [](const auto& slot) {
      return slot->state() == SlotState::starting;
    });
    if (starting >= settings_.supervisor.max_parallel_starts) return;
    if (!budget_.take(SteadyClock::now())) return permission_timer_.start(kPermissionRetry);
    Slot* slot = queue_.front();
    queue_.pop_front();
    slot->start();
  }
}

void Supervisor::release(Release release) {
  releaser_->add(std::move(release));
}

void Supervisor::pool_failed(Pool& pool, const std::string& reason) {
  pool.failure = reason;
  log::error(
      "pool.failed",
      {{"flow", pool.flow.slug},
       {"step", pool.step.slug},
       {"reason", reason},
       {"error_hint", "No restart can help: correct the cause, then restart pgflow up."}}
  );
  for (const auto& slot : slots_) {
    if (&slot->pool() == &pool) slot->give_up();
  }
}

// Every change of a slot ends here.
void Supervisor::changed() {
  if (options_.observer && !observer_timer_.is_running()) observer_timer_.start(0ms);
  if (!queue_.empty() && !permission_timer_.is_running()) permission_timer_.start(0ms);
  if (phase_ == Phase::stopping && !finish_timer_.is_running()) finish_timer_.start(0ms);
}

Snapshot Supervisor::snapshot() const {
  Snapshot view;
  view.name = settings_.supervisor.name;
  view.generation = generation_;
  view.pid = getpid();
  view.config_file = settings_.file.string();
  view.phase = phase_;
  view.database_up = database_.up();
  view.pending_releases = releaser_ ? static_cast<int>(releaser_->pending()) : 0;
  for (std::size_t i = 0; i < manifests_.size(); ++i) {
    view.flows.push_back(
        {.slug = manifests_[i].flow_slug,
         .queue_mode = manifests_[i].queue_mode,
         .compiled = i < compiled_.size() ? compiled_[i] : "",
         .queues = std::max(1, static_cast<int>(manifests_[i].routes.size()))}
    );
  }
  for (const auto& pool : pools_) {
    PoolView& out = view.pools.emplace_back();
    out.flow_slug = pool->flow.slug;
    out.step_slug = pool->step.slug;
    out.state = !pool->failure.empty()      ? PoolState::failed
                : pool->step.processes == 0 ? PoolState::zero
                                            : PoolState::active;
    out.reason = pool->failure;
    out.processes = out.file_processes = pool->step.processes;
    out.max_concurrent = out.file_max_concurrent = pool->step.max_concurrent;
    for (const auto& route : pool->manifest.routes) {
      if (route.step_slug == pool->step.slug) out.queue_name = route.queue_name;
    }
    for (const auto& slot : slots_) {
      if (&slot->pool() == pool.get()) out.slots.push_back(slot->view());
    }
  }
  return view;
}

}  // namespace

std::string_view to_string(Phase phase) {
  switch (phase) {
    case Phase::starting:
      return "starting";
    case Phase::running:
      return "running";
    case Phase::stopping:
      return "stopping";
    case Phase::stopped:
      return "stopped";
  }
  return "";
}

std::string_view to_string(PoolState state) {
  switch (state) {
    case PoolState::failed:
      return "failed";
    case PoolState::fenced:
      return "fenced";
    case PoolState::paused:
      return "paused";
    case PoolState::zero:
      return "zero";
    case PoolState::crashlooping:
      return "crashlooping";
    case PoolState::active:
      return "active";
  }
  return "";
}

int run_supervisor(settings::Settings settings, SupervisorOptions options) {
  return Supervisor(std::move(settings), std::move(options)).run();
}

}  // namespace pgflow::supervisor
