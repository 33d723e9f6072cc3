#include "supervisor/supervisor.hpp"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <deque>
#include <functional>
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
#include "supervisor/admission.hpp"
#include "supervisor/control/control_room.hpp"
#include "supervisor/control/metrics.hpp"
#include "supervisor/control/notifier.hpp"
#include "supervisor/control/queue_sampler.hpp"
#include "supervisor/database_link.hpp"
#include "supervisor/describe.hpp"
#include "supervisor/fence_watch.hpp"
#include "supervisor/instance_lock.hpp"
#include "supervisor/oom_kills.hpp"
#include "supervisor/orders.hpp"
#include "supervisor/orphan_watch.hpp"
#include "supervisor/pool.hpp"
#include "supervisor/pool_orders.hpp"
#include "supervisor/process_tree.hpp"
#include "supervisor/releaser.hpp"
#include "supervisor/slot.hpp"
#include "supervisor/sweeper.hpp"
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

std::vector<int> heeded_signals() {
  std::vector<int> numbers{SIGTERM, SIGINT, SIGQUIT, SIGHUP, SIGUSR1, SIGUSR2, SIGTTIN};
  // On a terminal it is Ctrl-Z, and does what people expect.
  if (isatty(STDIN_FILENO) == 0) numbers.push_back(SIGTSTP);
  return numbers;
}

class Supervisor : public SlotHost, public Orders {
 public:
  Supervisor(settings::Settings settings, SupervisorOptions options);
  ~Supervisor();

  int run();

 private:
  // The steps of a start, in their order. Nothing: go on; else the exit code.
  using Step = std::optional<ExitCode>;
  Step take_the_lock();
  Step open_the_control_room();
  Step open_the_journal();
  Step describe_the_flows();
  Step reach_the_database();
  Step check_the_schema();
  Step compile_the_flows();
  Step fill_the_slots();

  // A stop.
  void on_signal(int number);
  void stop_gracefully(std::string_view why, Milliseconds deadline);
  void stop_at_once();
  void tell_all() const;
  void pause_all();
  void finish_if_empty();

  // Every second.
  void tick();
  void watch_lock();
  void requeue_stalled();
  void on_database_change();

  // Starts, one after the other.
  void give_permissions();

  // SlotHost
  void ask_permission(Slot& slot) override;
  void leave_queue(Slot& slot) override;
  void release(Release release) override;
  void sweep(Remains remains, std::function<void()> swept) override {
    sweeper_.sweep(remains, std::move(swept));
  }
  bool claim_oom_kill() override { return oom_kills_.claim(); }
  void wake_queue(std::string_view queue_name, const Slot* except) override;
  void changed() override;
  void exited(ExitView exit) override;
  void said(WorkerLine line) override { room_->said(std::move(line)); }
  void want_database(WorkerId worker_id) override { admission_.want(worker_id); }
  bool has_room() const override;
  bool database_up() const override { return database_.up(); }
  const settings::Settings& settings() const override { return settings_; }
  const std::string& generation() const override { return generation_; }
  Metrics& metrics() override { return metrics_; }

  // Orders
  Snapshot snapshot() const override;
  Result<void> scale(const PoolName& name, const ScaleOrder& order) override {
    return pool_orders_.scale(name, order);
  }
  Result<void> reset_scale(const PoolName& name) override { return pool_orders_.reset_scale(name); }
  Result<void> pause(const PoolName& name, const PauseOrder& order) override {
    return pool_orders_.pause(name, order);
  }
  Result<void> resume(const PoolName& name) override { return pool_orders_.resume(name); }
  Result<void> restart(const PoolName& name) override { return pool_orders_.restart(name); }
  Result<void> drain_worker(const std::string& worker_id) override;
  Result<void> kill_worker(const std::string& worker_id) override;
  Result<void> stop(std::optional<Milliseconds> deadline) override;

  Result<Slot*> worker(const std::string& worker_id) const;
  Slot* find(WorkerId worker_id) const;
  bool admit(WorkerId worker_id) const;

  // Makes true what is wanted.
  void converge();
  void heed_fences();
  void heed_failures();
  int processes_alive() const;

  template <class T, class Start>
  std::optional<Result<T>> ask(Start start);

  const settings::Settings settings_;
  SupervisorOptions options_;
  const std::string generation_ = uuid_text(random_uuid());
  uv::Loop loop_;

  Metrics metrics_;

  // Held until the end.
  UniqueFd lock_;
  bool told_lost_ = false;  // that nobody finds it

  Phase phase_ = Phase::starting;
  bool stop_wanted_ = false;  // before `stopping`: a signal during the start
  bool forced_ = false;
  bool has_failed_ = false;  // exit_when
  bool was_ready_ = false;
  const SteadyClock::time_point started_at_ = SteadyClock::now();
  SteadyClock::time_point stop_signal_at_;
  std::optional<SteadyClock::time_point> empty_since_;

  DatabaseLink database_;
  store::WakeListener ears_;
  Admission admission_;
  FenceWatch fences_;
  std::optional<Releaser> releaser_;
  OrphanWatch orphans_;
  Sweeper sweeper_;
  OomKills oom_kills_{own_memory_events()};

  std::vector<contract::Manifest> manifests_;  // as settings_.flows
  std::vector<std::string> compiled_;          // as settings_.flows
  std::vector<std::unique_ptr<Pool>> pools_;
  PoolOrders pool_orders_;
  std::deque<ExitView> exits_;  // the newest first

  std::deque<Slot*> queue_;
  bool giving_permissions_ = false;
  SpawnBudget budget_;

  SteadyClock::time_point ticked_at_;
  uv::Timer tick_timer_;
  uv::Timer requeue_timer_;
  uv::Timer permission_timer_;
  uv::Timer converge_timer_;
  uv::Timer finish_timer_;
  std::vector<std::unique_ptr<uv::Signal>> signals_;
  QueueSampler sampler_;
  Notifier notifier_;
  std::optional<ControlRoom> room_;  // last: it asks for all of the above
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
      admission_(loop_, [this](WorkerId worker_id) { return admit(worker_id); }),
      fences_(
          loop_, database_.connection(), ears_, [this](const std::vector<FenceView>&) { changed(); }
      ),
      orphans_(
          loop_,
          settings_.supervisor.shutdown_deadline + settings_.supervisor.kill_margin,
          [this](WorkerId dead) {
            release({dead, "Worker process lost its supervisor and ended.", {}});
          }
      ),
      sweeper_(loop_),
      pool_orders_(
          settings_, pools_, [this] { return phase_; }, [this] { changed(); }
      ),
      budget_(settings_.supervisor.max_spawns_per_second, SteadyClock::now()),
      tick_timer_(loop_, [this] { tick(); }),
      requeue_timer_(loop_, [this] { requeue_stalled(); }),
      permission_timer_(loop_, [this] { give_permissions(); }),
      converge_timer_(loop_, [this] { converge(); }),
      finish_timer_(loop_, [this] { finish_if_empty(); }),
      sampler_(loop_, settings_.database, metrics_, [this] { return database_.up(); }),
      notifier_(loop_) {
  ::signal(SIGPIPE, SIG_IGN);
  for (const int number : heeded_signals()) {
    signals_.push_back(std::make_unique<uv::Signal>(loop_, number, [this](int caught) {
      on_signal(caught);
    }));
  }
  become_subreaper();
}

// What comes while the program ends must not do what it does to programs without a handler.
Supervisor::~Supervisor() {
  sigset_t late;
  sigemptyset(&late);
  for (const int number : heeded_signals()) sigaddset(&late, number);
  pthread_sigmask(SIG_BLOCK, &late, nullptr);
}

int Supervisor::run() {
  for (auto step :
       {&Supervisor::take_the_lock,
        &Supervisor::open_the_control_room,
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
  if (has_failed_) return number(ExitCode::internal);
  return number(forced_ ? ExitCode::forced : ExitCode::ok);
}

// --- the start

Supervisor::Step Supervisor::take_the_lock() {
  lock_ = std::move(options_.lock);
  if (!lock_) {
    auto lock = lock_state_dir(settings_.supervisor.state_dir);
    if (!lock) {
      tell(lock.error());
      return lock.error().kind == "locked" ? ExitCode::locked : ExitCode::os_error;
    }
    lock_ = std::move(*lock);
  }
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

Supervisor::Step Supervisor::open_the_control_room() {
  room_.emplace(loop_, *this, settings_.supervisor, metrics_);
  if (const auto opened = room_->open(); !opened) {
    tell(opened.error());
    return opened.error().kind == "locked" ? ExitCode::locked : ExitCode::os_error;
  }
  return {};
}

Supervisor::Step Supervisor::open_the_journal() {
  auto journal = ReleaseJournal::open(settings_.supervisor.state_dir / "releases.jsonl");
  if (!journal) {
    tell(journal.error());
    return ExitCode::os_error;
  }
  if (!journal->pending().empty()) {
    log::info("journal.replayed", {{"releases", journal->pending().size()}});
  }
  releaser_.emplace(loop_, database_, std::move(*journal), metrics_, [this] {
    changed();
    // A dead worker's tasks are back, in whatever queue.
    for (const auto& pool : pools_) pool->wake();
  });
  if (const auto loaded = pool_orders_.load(); !loaded) {
    tell(loaded.error());
    return ExitCode::config;
  }
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
    if (options_.require_database && !database_.problem().empty()) {
      tell(
          {.kind = "database_unreachable",
           .message = "The database does not answer: " + database_.connection().dsn().describe(),
           .detail = database_.problem(),
           .hint = "Without --require-db it is waited for."}
      );
      return ExitCode::unavailable;
    }
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
      auto& pool = *pools_.emplace_back(
          std::make_unique<Pool>(loop_, *this, settings_.flows[i], step, manifests_[i])
      );
      pool_orders_.remind(pool);
    }
  }
  ticked_at_ = SteadyClock::now();
  tick_timer_.start(kTick, kTick);
  releaser_->resume();
  requeue_timer_.start(kRequeueInterval, kRequeueInterval);
  std::vector<std::string> functions;
  for (const auto& pool : pools_) functions.push_back(pool->function_name());
  fences_.start(generation_, settings_.supervisor.name, std::move(functions));
  std::vector<std::string> flows;
  for (const auto& flow : settings_.flows) flows.push_back(flow.slug);
  sampler_.start(std::move(flows));
  log::info("supervisor.running", {{"pools", pools_.size()}});
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
  if (number == SIGUSR1 || number == SIGUSR2) {
    log::warn("signal.ignored", {{"signal", sigabbrev_np(number)}, {"reason", "it means nothing"}});
    return;
  }
  if (number == SIGTTIN) return tell_all();
  if (number == SIGTSTP) return pause_all();
  if (phase_ == Phase::starting) {
    stop_wanted_ = true;
    return;
  }
  if (phase_ == Phase::running) {
    stop_signal_at_ = now;
    return stop_gracefully(sigabbrev_np(number), settings_.supervisor.shutdown_deadline);
  }
  // TERM may come ten times, from a service manager and from a container at once: one drain.
  const bool impatient =
      number == SIGQUIT || (number == SIGINT && now - stop_signal_at_ >= kSecondInterrupt);
  if (impatient) stop_at_once();
}

// What it knows, into the log.
void Supervisor::tell_all() const {
  for (const auto& pool : pools_) {
    const PoolView view = pool->view();
    log::info(
        "status.pool",
        {{"pool", pool->name()},
         {"state", to_string(view.state)},
         {"processes", view.processes},
         {"max_concurrent", view.max_concurrent},
         {"ready", pool->count(SlotState::ready)}}
    );
    for (const SlotView& slot : view.slots) {
      log::info(
          "status.slot",
          {{"pool", pool->name()},
           {"slot", slot.number},
           {"state", to_string(slot.state)},
           {"worker_id", slot.worker_id},
           {"pid", slot.pid},
           {"in_flight", slot.in_flight},
           {"uptime_ms", slot.uptime}}
      );
    }
  }
  log::info(
      "status.supervisor",
      {{"phase", to_string(phase_)},
       {"database_up", database_.up()},
       {"pending_releases", releaser_ ? releaser_->pending() : 0}}
  );
}

void Supervisor::pause_all() {
  log::info("supervisor.pausing", {{"signal", "TSTP"}});
  for (const auto& flow : settings_.flows) {
    const auto paused = pause({flow.slug, ""}, {.reason = "SIGTSTP"});
    if (!paused) log::warn("pool.not_paused", paused.error(), {{"flow", flow.slug}});
  }
}

void Supervisor::stop_gracefully(std::string_view why, Milliseconds deadline) {
  phase_ = Phase::stopping;
  log::info("supervisor.stopping", {{"by", why}, {"deadline_ms", deadline}});
  for (const auto& pool : pools_) pool->stop(deadline);
  changed();
}

void Supervisor::stop_at_once() {
  if (forced_) return;
  forced_ = true;
  log::warn("supervisor.stopping_at_once");
  for (const auto& pool : pools_) pool->kill();
  changed();
}

// The last process is reaped: the tasks of the dead go back, then the loop ends.
void Supervisor::finish_if_empty() {
  if (phase_ != Phase::stopping || processes_alive() > 0) return;
  const auto now = SteadyClock::now();
  if (!empty_since_) {
    empty_since_ = now;
    fences_.stop();
  }
  const bool busy = database_.connection().state() == pg::ConnectionState::busy;
  if ((releaser_->pending() > 0 || busy) && now - *empty_since_ < kLastReleases)
    return finish_timer_.start(20ms);
  if (releaser_->pending() > 0) {
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
  watch_lock();
  reap_strangers();
  oom_kills_.tick();
  for (const auto& pool : pools_) pool->tick(now, grace);
  pool_orders_.end_overdue(WallClock::now());
  changed();
}

// A folder that was moved away took our locks along: whoever makes it anew does not know of us.
void Supervisor::watch_lock() {
  const std::filesystem::path& state_dir = settings_.supervisor.state_dir;
  const bool lost = !is_found(lock_, state_dir);
  if (lost && !told_lost_) {
    log::error(
        "state_dir.lost",
        {{"state_dir", state_dir.string()},
         {"hint",
          "Put the folder back, or stop this supervisor; one that is started meanwhile does not "
          "know of its workers."}}
    );
  }
  told_lost_ = lost;
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
    metrics_.database_connected();
    ears_.listen();
    fences_.look();
    admission_.open();
    if (releaser_ && phase_ != Phase::starting) releaser_->resume();
  } else {
    ears_.forget();
    admission_.close();
  }
  changed();
}

void Supervisor::wake_queue(std::string_view queue_name, const Slot* except) {
  for (const auto& pool : pools_) pool->wake(queue_name, except);
}

void Supervisor::ask_permission(Slot& slot) {
  queue_.push_back(&slot);
}

void Supervisor::leave_queue(Slot& slot) {
  std::erase(queue_, &slot);
}

void Supervisor::give_permissions() {
  if (!queue_.empty() && database_.up() && fences_.known()) {
    int starting = 0;
    for (const auto& pool : pools_) starting += pool->count(SlotState::starting);
    if (starting >= settings_.supervisor.max_parallel_starts || !has_room()) return;
    if (!budget_.take(SteadyClock::now())) return permission_timer_.start(kPermissionRetry);
    Slot* slot = queue_.front();
    queue_.pop_front();
    slot->start();
    // Making a process takes a while: whoever asks something is answered in between.
    return permission_timer_.start(0ms);
  }
}

void Supervisor::release(Release release) {
  releaser_->add(std::move(release));
}

// Never from inside a slot's own transition.
void Supervisor::changed() {
  if (!converge_timer_.is_running()) converge_timer_.start(0ms);
}

void Supervisor::converge() {
  heed_fences();
  for (const auto& pool : pools_) pool->converge();
  if (phase_ == Phase::running) {
    was_ready_ = was_ready_ || std::ranges::all_of(pools_, &Pool::is_ready);
    give_permissions();
    heed_failures();
  }
  if (options_.observer) options_.observer(snapshot());
  if (notifier_.is_wanted()) notifier_.show(snapshot());
  if (room_) room_->changed();
  finish_if_empty();
}

// A container without a working pool is better started anew, if its operator says so.
void Supervisor::heed_failures() {
  const auto has_failed = [](const auto& pool) { return pool->has_failed(); };
  const bool ends = settings_.supervisor.exit_when == settings::ExitWhen::any_required_failed
                        ? std::ranges::any_of(pools_, has_failed)
                        : settings_.supervisor.exit_when == settings::ExitWhen::all_failed &&
                              std::ranges::all_of(pools_, has_failed);
  if (!ends) return;
  has_failed_ = true;
  stop_gracefully("exit_when", settings_.supervisor.shutdown_deadline);
}

// A fence is acknowledged when the last process that it is around is gone.
void Supervisor::heed_fences() {
  for (const auto& pool : pools_) {
    const FenceView* fence = fences_.around(pool->function_name());
    pool->fence(fence != nullptr ? std::optional(fence->reason) : std::nullopt);
  }
  for (const FenceView& fence : fences_.standing()) {
    const bool obeyed = std::ranges::none_of(pools_, [&](const auto& pool) {
      return pool->processes_alive() > 0 &&
             std::ranges::find(fence.function_names, pool->function_name()) !=
                 fence.function_names.end();
    });
    if (obeyed) fences_.ack(fence.fence_id);
  }
}

void Supervisor::exited(ExitView exit) {
  constexpr std::size_t kRemembered = 50;
  metrics_.worker_exited(exit.flow_slug, exit.step_slug, exit.reason);
  exits_.push_front(std::move(exit));
  if (exits_.size() > kRemembered) exits_.pop_back();
}

int Supervisor::processes_alive() const {
  int alive = 0;
  for (const auto& pool : pools_) alive += pool->processes_alive();
  return alive;
}

// More may live than are wanted, while some are replaced or leave slowly; never more than the
// database was promised.
bool Supervisor::has_room() const {
  return settings::connections_for(processes_alive() + 1) <= settings_.database.max_connections;
}

// --- orders

Result<Slot*> Supervisor::worker(const std::string& worker_id) const {
  const auto id = WorkerId::parse(worker_id);
  if (Slot* slot = id ? find(*id) : nullptr; slot != nullptr) return slot;
  return fail(
      {.kind = "worker_unknown",
       .message = "This supervisor runs no worker " + worker_id + ".",
       .hint = "`pgflow status` lists the workers."}
  );
}

Slot* Supervisor::find(WorkerId worker_id) const {
  for (const auto& pool : pools_) {
    if (Slot* slot = pool->find(worker_id); slot != nullptr) return slot;
  }
  return nullptr;
}

bool Supervisor::admit(WorkerId worker_id) const {
  Slot* slot = find(worker_id);
  if (slot != nullptr) slot->admit_to_database();
  return slot != nullptr;
}

Result<void> Supervisor::drain_worker(const std::string& worker_id) {
  const auto slot = worker(worker_id);
  if (!slot) return fail(slot.error());
  (*slot)->pool().replace((*slot)->worker_id(), "drain");
  changed();
  return {};
}

Result<void> Supervisor::kill_worker(const std::string& worker_id) {
  const auto slot = worker(worker_id);
  if (!slot) return fail(slot.error());
  (*slot)->condemn("operator_kill");
  return {};
}

Result<void> Supervisor::stop(std::optional<Milliseconds> deadline) {
  if (phase_ == Phase::running) {
    stop_gracefully("operator", deadline.value_or(settings_.supervisor.shutdown_deadline));
  } else if (phase_ == Phase::starting) {
    stop_wanted_ = true;
  }
  return {};
}

Snapshot Supervisor::snapshot() const {
  Snapshot view;
  view.name = settings_.supervisor.name;
  view.generation = generation_;
  view.pid = getpid();
  view.config_file = settings_.file.string();
  view.uptime = std::chrono::duration_cast<Milliseconds>(SteadyClock::now() - started_at_);
  view.phase = phase_;
  view.was_ready = was_ready_;
  view.database_up = database_.up();
  view.database_error = database_.problem();
  view.database_for = database_.state_for();
  view.database_version = database_.server_version();
  view.pending_releases = releaser_ ? static_cast<int>(releaser_->pending()) : 0;
  for (std::size_t i = 0; i < manifests_.size(); ++i) {
    view.flows.push_back(
        {.slug = manifests_[i].flow_slug,
         .queue_mode = manifests_[i].queue_mode,
         .compiled = i < compiled_.size() ? compiled_[i] : "",
         .queues = std::max(1, static_cast<int>(manifests_[i].routes.size()))}
    );
  }
  for (const auto& pool : pools_) view.pools.push_back(pool->view());
  view.fences = fences_.standing();
  view.exits.assign(exits_.begin(), exits_.end());
  return view;
}

}  // namespace

int run_supervisor(settings::Settings settings, SupervisorOptions options) {
  return Supervisor(std::move(settings), std::move(options)).run();
}

}  // namespace pgflow::supervisor
