#include "supervisor/slot.hpp"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <random>
#include <span>
#include <utility>

#include "base/bug.hpp"
#include "base/strong.hpp"
#include "log/log.hpp"
#include "supervisor/instance_lock.hpp"
#include "supervisor/pool.hpp"
#include "supervisor/process_tree.hpp"

namespace pgflow::supervisor {
namespace {

constexpr Milliseconds kLockHeldWait{250};
// A worker that closed its socket may be on its way out.
constexpr Milliseconds kBrokenGrace{2'000};
// One heartbeat may wait this long for its answer (pg::ConnectionOptions::query_timeout).
constexpr Milliseconds kLongestHeartbeat{30'000};
// Of its output, for the record of its end.
constexpr std::size_t kLastLines = 20;
constexpr std::size_t kLastLineBytes = 1024;
constexpr std::size_t kLoggedLines = 5;
// For the core of a worker that is told to abort.
constexpr Milliseconds kAbortGrace{2'000};
constexpr std::string_view kHung = "hung";

double dice() {
  static std::mt19937_64 generator(std::random_device{}());
  return std::uniform_real_distribution<double>(0, 1)(generator);
}

Milliseconds since(SteadyClock::time_point then, SteadyClock::time_point now) {
  return std::chrono::duration_cast<Milliseconds>(now - then);
}

}  // namespace

Slot::Slot(uv::Loop& loop, SlotHost& host, Pool& pool, int number)
    : loop_(loop),
      host_(host),
      pool_(pool),
      number_(number),
      lock_path_(slot_lock_path(
          host.settings().supervisor.state_dir, pool.flow().slug, pool.step().slug, number
      )),
      policy_(host.settings().defaults.restart),
      restart_timer_(loop, [this] { handle(SlotEvent::due); }),
      deadline_timer_(
          loop,
          [this] {
            if (state_ == SlotState::killing) return process_->kill();
            if (state_ == SlotState::starting) return on_start_deadline();
            condemn("drain_overdue");
          }
      ),
      broken_timer_(loop, [this] { condemn("contract_broken"); }) {}

// --- orders

void Slot::want_up() {
  wanted_up_ = true;
  handle(SlotEvent::order_up);
}

void Slot::want_down(std::optional<Milliseconds> deadline, const std::string& reason) {
  wanted_up_ = false;
  if (deadline) {
    const auto end = SteadyClock::now() + *deadline;
    drain_deadline_ = std::min(drain_deadline_.value_or(end), end);
  }
  drain_reason_ = reason;
  // A worker that is not ready holds no task: it has nothing to finish.
  if (state_ == SlotState::starting && !ended_at_ && last_.our_reason.empty())
    last_.our_reason = "stopped_at_start";
  handle(SlotEvent::order_down);
}

void Slot::leave_and_return(const std::string& reason) {
  drain_reason_ = reason;
  handle(SlotEvent::order_leave);
}

void Slot::set_concurrency(int max_concurrent) {
  if (state_ != SlotState::ready || ended_at_ || max_concurrent == concurrency_) return;
  concurrency_ = max_concurrent;
  process_->send(contract::SetLimits{max_concurrent});
  log::info(
      "worker.limits",
      {{"slot", name()}, {"worker_id", worker_id_}, {"concurrency", max_concurrent}}
  );
}

void Slot::admit_to_database() {
  if (!ended_at_) process_->send(contract::DatabasePermit{});
}

void Slot::kill() {
  wanted_up_ = false;
  if (has_process(state_) && !ended_at_ && last_.our_reason.empty())
    last_.our_reason = "operator_kill";
  handle(SlotEvent::order_kill);
}

void Slot::give_up() {
  handle(SlotEvent::give_up);
}

// --- the machine

void Slot::handle(SlotEvent event) {
  const auto& cell = kSlotGrid.at(state_, event);
  if (cell.kind != CellKind::go) {
    if (cell.kind == CellKind::stay) return;
    PGFLOW_BUG(fmt::format("slot {}: {} in state {}", name(), to_string(event), to_string(state_)));
  }
  log::debug(
      "slot.state",
      {{"slot", name()},
       {"from", to_string(state_)},
       {"by", to_string(event)},
       {"to", to_string(cell.next)}}
  );
  state_ = cell.next;
  act(cell.action);
  host_.changed();
}

void Slot::act(SlotAction action) {
  const auto& settings = host_.settings();
  // An order that meets a process which is reaped already: its burial will heed it.
  if (ended_at_) return;
  switch (action) {
    case SlotAction::none:
      break;
    case SlotAction::ask_permission:
      host_.ask_permission(*this);
      break;
    case SlotAction::leave_queue:
      host_.leave_queue(*this);
      break;
    case SlotAction::schedule_start:
      restart_timer_.start(next_wait_);
      next_start_at_ = SteadyClock::now() + next_wait_;
      break;
    case SlotAction::cancel_start:
      restart_timer_.stop();
      break;
    case SlotAction::watch_start:
      deadline_timer_.start(settings.defaults.start_timeout);
      break;
    case SlotAction::watch_health:
      deadline_timer_.stop();
      ready_at_ = moved_at_ = beat_at_ = SteadyClock::now();
      break;
    case SlotAction::ask_to_drain:
      ask_to_drain();
      break;
    case SlotAction::kill_process:
      deadline_timer_.stop();
      if (last_.our_reason != kHung) return process_->kill();
      // Where it hangs is worth a core.
      process_->abort();
      deadline_timer_.start(kAbortGrace);
      break;
  }
}

void Slot::ask_to_drain() {
  if (!drain_deadline_) return process_->send(contract::Drain{std::nullopt, drain_reason_});
  const auto left = std::max(since(SteadyClock::now(), *drain_deadline_), Milliseconds{0});
  process_->send(contract::Drain{left.count(), drain_reason_});
  deadline_timer_.start(left + host_.settings().supervisor.kill_margin);
}

// --- a process begins

void Slot::start() {
  const auto refused = [this](const Error& error, Milliseconds wait) {
    log::error("worker.not_started", error, {{"slot", name()}, {"wait_ms", wait}});
    host_.metrics().worker_not_started(pool_.flow().slug, pool_.step().slug);
    next_wait_ = wait;
    handle(SlotEvent::not_spawned);
  };
  auto lock = try_slot_lock(lock_path_);
  if (!lock) {
    return refused(lock.error(), policy_.wait_after(contract::ExitReaction::crash, {}, dice()));
  }
  if (!*lock) {  // a worker of a supervisor that is gone; it leaves soon
    log::debug("slot.lock_held", {{"slot", name()}});
    next_wait_ = kLockHeldWait;
    return handle(SlotEvent::not_spawned);
  }
  if (const auto dead = read_slot_owner(lock_path_)) {
    host_.release({dead->worker_id, "lost its supervisor and died", {}});
  }

  worker_id_ = WorkerId::random();
  last_ = {};
  last_lines_.clear();
  said_hello_ = false;
  queue_name_.clear();
  drain_deadline_.reset();
  tasks_done_ = 0;
  ready_at_.reset();
  ended_at_.reset();
  started_at_ = moved_at_ = SteadyClock::now();
  loop_seq_ = 0;
  // Before the process exists: a supervisor that dies right after the spawn must leave a name. The
  // lock itself needs none.
  if (const auto written = write_slot_owner((*lock)->get(), {worker_id_}); !written) {
    Error error = written.error();
    error.hint =
        "Should the supervisor die now, this worker's tasks come back after their timeout.";
    log::warn("slot.owner_not_written", error, {{"slot", name()}});
  }
  const int lock_fd = (*lock)->get();
  UniqueFd note(dup(lock_fd));
  auto process = WorkerProcess::start(
      loop_,
      {.flow = pool_.flow(),
       .step = pool_.step(),
       .slot = name(),
       .worker_id = worker_id_,
       .revision = pool_.manifest().fingerprint,
       .database_url = host_.settings().database.url,
       .log = host_.settings().supervisor.log},
      std::move(**lock),
      {.message = [this](contract::FromWorker message) { on_message(std::move(message)); },
       .said = [this](std::string_view line) { on_line(line); },
       .broken = [this](const Error& error) { on_broken(error); },
       .exited = [this](uv::ChildProcess::Exit exit) { on_exit(exit); }}
  );
  if (!process) {
    clear_slot_owner(lock_path_);
    return refused(process.error(), policy_.wait_after(contract::ExitReaction::crash, {}, dice()));
  }
  process_ = std::move(*process);
  const int pid = process_->pid();
  write_slot_owner(note.get(), {worker_id_, pid, process_start_time(pid)});
  log::info("worker.spawned", {{"slot", name()}, {"worker_id", worker_id_}, {"pid", pid}});
  host_.metrics().worker_started(pool_.flow().slug, pool_.step().slug);
  handle(SlotEvent::spawned);
}

void Slot::wake() {
  if (state_ == SlotState::ready && !ended_at_) process_->send(contract::Wake{});
}

// --- what the process says

void Slot::on_message(contract::FromWorker message) {
  if (!said_hello_ && !std::holds_alternative<contract::Hello>(message)) {
    return on_broken({.kind = "contract", .message = "The worker's first message is not HELLO."});
  }
  std::visit([this](const auto& m) { hear(m); }, message);
}

// Its log lines go into ours as they are; a handler's print, a library's last words, become one.
void Slot::on_line(std::string_view line) {
  std::string text = log::harmless(line);
  if (log::is_rendered(line)) {
    log::forward(line);
  } else {
    log::info("worker.output", {{"slot", name()}, {"worker_id", worker_id_}, {"text", text}});
  }
  last_lines_.push_back(text.substr(0, kLastLineBytes));
  if (last_lines_.size() > kLastLines) last_lines_.pop_front();
  host_.said(
      {.time = WallClock::now(),
       .flow_slug = pool_.flow().slug,
       .step_slug = pool_.step().slug,
       .slot = number_,
       .worker_id = worker_id_.text(),
       .text = std::move(text)}
  );
}

void Slot::hear(const contract::Hello& hello) {
  if (said_hello_ || hello.worker_id != worker_id_.text()) {
    return on_broken(
        {.kind = "contract", .message = "The worker says HELLO twice or with another's id."}
    );
  }
  said_hello_ = true;
  concurrency_ = pool_.max_concurrent();
  process_->send(contract::Welcome{host_.generation(), concurrency_});
}

void Slot::hear(const contract::Ready& ready) {
  if (state_ == SlotState::ready) return;  // said twice: harmless
  last_.was_ready = true;
  pool_.worker_ready();
  queue_name_ = ready.queue_name;
  log::info(
      "worker.ready",
      {{"slot", name()},
       {"worker_id", worker_id_},
       {"queue", ready.queue_name},
       {"duration_ms", since(started_at_, SteadyClock::now())}}
  );
  handle(SlotEvent::ready);
}

void Slot::hear(const contract::Ping& ping) {
  last_.rss_bytes = ping.rss_bytes;
  const auto most = host_.settings().defaults.hard_memory;
  if (most > 0 && ping.rss_bytes > most) return condemn("oom");
  const auto now = SteadyClock::now();
  if (std::exchange(loop_seq_, ping.loop_seq) != ping.loop_seq) moved_at_ = now;
  if (std::exchange(heartbeat_seq_, ping.heartbeat_seq) != ping.heartbeat_seq) beat_at_ = now;
  // The order was lost: the socket was full.
  if (state_ == SlotState::ready && ping.concurrency != concurrency_)
    process_->send(contract::SetLimits{concurrency_});
}

void Slot::hear(const contract::TasksEnded& tasks) {
  tasks_done_ += static_cast<std::int64_t>(tasks.milliseconds.size());
  pool_.task_ended();
  host_.metrics().tasks_ended(
      pool_.flow().slug, pool_.step().slug, tasks.outcome, tasks.milliseconds
  );
  host_.changed();
}

void Slot::hear(const contract::Stuck& stuck) {
  log::warn(
      "worker.handler_stuck",
      {{"slot", name()},
       {"run_id", stuck.run_id},
       {"task_index", stuck.task_index},
       {"over_ms", stuck.over_milliseconds}}
  );
}

void Slot::hear(const contract::Work& work) {
  host_.wake_queue(work.queue_name, this);
}

void Slot::hear(const contract::DatabaseState& database) {
  log::debug("worker.database", {{"slot", name()}, {"up", database.up}});
}

void Slot::hear(const contract::DatabaseWant&) {
  host_.want_database(worker_id_);
}

void Slot::hear(const contract::Drained& drained) {
  last_.drained = true;
  log::debug(
      "worker.drained", {{"slot", name()}, {"clean", drained.clean}, {"released", drained.released}}
  );
}

void Slot::hear(const contract::ExternalTerm& term) {
  last_.external_signal = term.signal;
}

void Slot::hear(const contract::Fatal& fatal) {
  last_.fatal = fatal;
}

void Slot::hear(const contract::Unknown& unknown) {
  log::debug("worker.unknown_message", {{"slot", name()}, {"type", unknown.type}});
}

// --- what makes it end

void Slot::on_broken(const Error& error) {
  // The end of the socket is seen before the exit: only one without the other is a breach.
  if (error.kind == "socket_closed") return broken_timer_.start(kBrokenGrace);
  log::warn("worker.contract_broken", error, {{"slot", name()}, {"worker_id", worker_id_}});
  condemn("contract_broken");
}

void Slot::on_start_deadline() {
  // While the database is away nobody can become ready.
  if (!host_.database_up()) return deadline_timer_.start(host_.settings().defaults.start_timeout);
  condemn("start_timeout");
}

void Slot::check_watchdog(SteadyClock::time_point now, bool grace) {
  if (ended_at_ || (state_ != SlotState::ready && state_ != SlotState::draining)) return;
  process_->receive();  // what came while we were busy counts
  if (ended_at_ || !ready_at_) return;
  if (grace) moved_at_ = beat_at_ = now;
  const auto watchdog = host_.settings().defaults.watchdog;
  if (since(moved_at_, now) >= watchdog) return condemn(std::string(kHung));
  // Its loop lives, and so do its tasks: it may finish them.
  if (state_ == SlotState::ready && since(beat_at_, now) >= watchdog + kLongestHeartbeat)
    pool_.replace(worker_id_, "heartbeat_stands_still");
}

void Slot::condemn(std::string reason) {
  if (ended_at_ || !has_process(state_) || state_ == SlotState::killing) return;
  log::warn("worker.killed", {{"slot", name()}, {"worker_id", worker_id_}, {"reason", reason}});
  last_.our_reason = std::move(reason);
  handle(SlotEvent::overdue);
}

// --- and its end

void Slot::on_exit(uv::ChildProcess::Exit exit) {
  last_.exit = exit;
  ended_at_ = SteadyClock::now();
  broken_timer_.stop();
  deadline_timer_.stop();
  const bool may_be_oom = exit.signal == SIGKILL && last_.our_reason.empty();
  last_.oom_killed = may_be_oom && host_.claim_oom_kill();
  // Handlers' children must be gone before their tasks are given to somebody else.
  host_.sweep({process_->pid(), worker_id_}, [this] { bury(); });
}

void Slot::bury() {
  process_->hear_out();
  last_.pool_was_ready = pool_.was_ready();
  last_.running = process_->running();
  const Verdict verdict = judge(last_);
  const bool told_to_leave = state_ == SlotState::draining || !wanted_up_;
  const bool by_order = told_to_leave && verdict.reaction == contract::ExitReaction::replace;
  ExitView exit{
      .time = WallClock::now(),
      .flow_slug = pool_.flow().slug,
      .step_slug = pool_.step().slug,
      .slot = number_,
      .worker_id = worker_id_.text(),
      .pid = process_->pid(),
      .code = last_.exit.code,
      .signal = last_.exit.signal,
      .reason = verdict.reason,
      .text = verdict.text,
      .in_flight = static_cast<int>(last_.running.size()),
      .rss_bytes = last_.rss_bytes,
      .uptime = since(started_at_, *ended_at_),
  };
  if (!by_order) exit.last_output.assign(last_lines_.begin(), last_lines_.end());
  const auto level = by_order ? log::Level::info : log::Level::warn;
  const std::string slot = name();  // the fields borrow it
  const std::span last_lines(exit.last_output);
  const std::string last_output = fmt::format(
      "{}", fmt::join(last_lines.last(std::min(kLoggedLines, last_lines.size())), "\n")
  );
  std::vector<log::Field> fields = {
      {"slot", slot},
      {"worker_id", worker_id_},
      {"pid", exit.pid},
      {"exit_code", exit.code},
      {"signal", exit.signal},
      {"reason", exit.reason},
      {"in_flight", exit.in_flight},
      {"rss_bytes", exit.rss_bytes},
      {"guilty", static_cast<int>(verdict.guilty.size())},
      {"uptime_ms", exit.uptime},
      {"was", to_string(state_)},
  };
  if (!last_output.empty()) fields.emplace_back("last_output", last_output);
  if (last_.fatal) {
    fields.emplace_back("error", last_.fatal->message);
    fields.emplace_back("error_detail", last_.fatal->detail);
    fields.emplace_back("error_hint", last_.fatal->hint);
  }
  log::write(level, "worker.exited", fields);

  const Milliseconds healthy = ready_for(*ended_at_);
  last_exit_ = exit;
  host_.exited(exit);
  host_.release({worker_id_, "Worker process " + verdict.text + ".", verdict.guilty});
  clear_slot_owner(lock_path_);
  process_.reset();
  worker_id_ = {};
  last_ = {};
  ended_at_.reset();

  const bool is_final = pool_.has_failed() || verdict.reaction == contract::ExitReaction::give_up;
  if (!wanted_up_ || is_final) {
    handle(wanted_up_ ? SlotEvent::exited_final : SlotEvent::exited_down);
    return pool_.worker_exited(verdict);
  }
  next_wait_ = by_order ? Milliseconds{0} : policy_.wait_after(verdict.reaction, healthy, dice());
  log::info(
      "slot.restart", {{"slot", name()}, {"wait_ms", next_wait_}, {"crashes", policy_.crashes()}}
  );
  handle(SlotEvent::exited_again);
  pool_.worker_exited(verdict);
}

// --- views

int Slot::in_flight() const {
  return process_ ? static_cast<int>(process_->running().size()) : 0;
}

Milliseconds Slot::ready_for(SteadyClock::time_point now) const {
  return ready_at_ ? since(*ready_at_, now) : Milliseconds{0};
}

std::string Slot::name() const {
  return fmt::format("{}#{}", pool_.name(), number_);
}

SlotView Slot::view() const {
  return {
      .number = number_,
      .state = state_,
      .wanted_up = wanted_up_,
      .worker_id = worker_id_.text(),
      .pid = process_ ? static_cast<int>(process_->pid()) : 0,
      .in_flight = in_flight(),
      .rss_bytes = last_.rss_bytes,
      .tasks_done = tasks_done_,
      .uptime = process_ ? since(started_at_, SteadyClock::now()) : Milliseconds{0},
      .next_start_in = state_ == SlotState::backoff
                           ? std::max(since(SteadyClock::now(), next_start_at_), Milliseconds{0})
                           : Milliseconds{0},
      .crashes = policy_.crashes(),
      .last_exit = last_exit_,
  };
}

}  // namespace pgflow::supervisor
