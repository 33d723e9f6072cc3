#include "worker/worker.hpp"

#include <unistd.h>
#include <algorithm>
#include <csignal>
#include <fstream>
#include <set>
#include <utility>

#include "base/bug.hpp"
#include "contract/environment.hpp"
#include "log/log.hpp"
#include "store/refusal.hpp"
#include "worker/startup.hpp"

namespace pgflow::worker {
namespace {

using namespace std::chrono_literals;

// An unsupervised worker gives up when it cannot reach its database for this long at the start; a
// supervised one leaves that decision to its supervisor.
constexpr auto kStartLimit = 30s;
// Without an order that says otherwise a drain may take this long under a supervisor: a host that
// goes down kills after 30 s.
constexpr auto kShutdownLimit = 25s;
// After an error on a connection that stays: a conflict passes soon, the rest needs somebody.
constexpr auto kConflictPause = 20ms;
constexpr auto kErrorPause = 1000ms;
// What one settling call carries, unless one result alone is more: a jsonb holds 256 MiB, a server
// hangs up at 1 GiB, and long before that it is slow.
constexpr std::size_t kMostSettled = 4U << 20U;
// Between the stop tokens and giving the tasks back.
constexpr auto kCancelGrace = 5s;
// What the other handlers get when one is stuck. With the graces around it the worker has ended
// before the database counts the stuck attempt as lost, 30 s after its timeout.
constexpr auto kStuckLimit = 15s;
// For the last words to the database. Shorter than the margin before a supervisor kills.
constexpr auto kLastWords = 2s;
// A task that was claimed ahead is given back when no handler has come to it for so long: its
// timeout counts from the claim in the database.
constexpr auto kLongestWait = 250ms;
constexpr auto kPingInterval = 1s;
// A permission to come back may get lost when a socket is full.
constexpr auto kAskAgain = 10s;
constexpr auto kNever = SteadyClock::time_point::max();
constexpr std::chrono::seconds kDefaultTimeout{60};  // the database's, for flows that set none

pg::ConnectionOptions connection_options(const pg::Dsn& dsn, const std::string& application_name) {
  return {.dsn = dsn, .application_name = application_name};
}

std::chrono::milliseconds since(SteadyClock::time_point time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(SteadyClock::now() - time);
}

// Rounded up: a timer that fires early would find nothing due.
std::chrono::milliseconds until(SteadyClock::time_point time) {
  return std::max(0ms, std::chrono::ceil<std::chrono::milliseconds>(time - SteadyClock::now()));
}

std::int64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::int64_t total = 0;
  std::int64_t resident = 0;
  statm >> total >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

// Class 22 data, 23 integrity, 54 too big: what was handed in, not the database, is at fault.
bool is_data_error(const Error& error) {
  const std::string_view sqlstate = error.sqlstate;
  return sqlstate.starts_with("22") || sqlstate.starts_with("23") || sqlstate.starts_with("54");
}

std::string_view text_of(StepOutcome::Kind kind) {
  switch (kind) {
    case StepOutcome::Kind::completed:
      return "completed";
    case StepOutcome::Kind::failed:
      return "failed";
    case StepOutcome::Kind::permanent:
      return "failed for good";
    case StepOutcome::Kind::released:
      return "released";
  }
  PGFLOW_BUG("an outcome without a name");
}

// What the step's handler reads. A root step's input is the run's, which SQL gives beside the empty
// object of dependencies; a root map's element is in its place already.
std::string_view input_of(const StepDefinition& step, const store::ClaimedTask& task) {
  const bool is_root = step.kind == StepKind::single && step.depends_on.empty();
  return is_root && task.flow_input ? *task.flow_input : task.input;
}

// What a handler logs, with its task's ids.
class TaskLogger : public Logger {
 public:
  explicit TaskLogger(const TaskInfo& task) : task_(task) {}

  void write(Level level, std::string_view message, const std::vector<LogField>& fields) override {
    std::vector<log::Field> all;
    all.reserve(fields.size() + 4);
    all.emplace_back("run_id", task_.run_id);
    all.emplace_back("task_index", task_.task_index);
    all.emplace_back("msg_id", MessageId(task_.msg_id));
    all.emplace_back("attempt", task_.attempt);
    for (const LogField& field : fields) all.emplace_back(field.key, field.value);
    log::write(static_cast<log::Level>(level), message, all);
  }

 private:
  const TaskInfo& task_;
};

}  // namespace

Worker::Worker(uv::Loop& loop, detail::WorkerPlan plan, Identity identity, const pg::Dsn& dsn)
    : loop_(loop),
      plan_(std::move(plan)),
      identity_(std::move(identity)),
      application_name_(std::string(contract::kWorkerApplicationName) + identity_.worker_id.text()),
      concurrency_(plan_.config.max_concurrent),
      pace_(plan_.config.poll_interval, plan_.config.max_poll),
      strays_(plan_.queue_name),
      phase_timer_(loop, [this] { handle(Event::time_up); }),
      poll_timer_(
          loop,
          [this] {
            look_due_ = true;
            pump();
          }
      ),
      retry_timer_(loop, [this] { pump(); }),
      deadline_timer_(loop, [this] { check_deadlines(); }),
      ping_timer_(loop, [this] { ping(); }),
      permit_timer_(loop, [this] { want_database(); }),
      work_(
          loop,
          connection_options(dsn, application_name_),
          {.up = [this] { on_work_up(); },
           .down = [this](const Error& why) { on_work_down(why); },
           .ask = [this] { want_database(); }}
      ),
      heartbeat_(
          loop,
          connection_options(dsn, application_name_),
          identity_.worker_id,
          {.pulse = [this](Pulse pulse) { on_pulse(pulse); },
           .in_hand = [this] { return in_hand(); },
           .lost = [this](store::TaskInHand lost) { on_lost(lost); },
           .ask = [this] { want_database(); },
           // Under a supervisor one connection listens for all of its workers.
           .wake = identity_.supervised() ? std::function<void(std::string_view)>()
                                          : [this](std::string_view queue) {
                                              if (queue == plan_.queue_name) wake();
                                            }}
      ),
      mailbox_(loop, [this](std::vector<Ended> ended) { on_ended(std::move(ended)); }),
      pool_(plan_.resources, plan_.config.max_concurrent) {
  for (const auto& step : plan_.definition->steps) {
    if (plan_.step_slug && step->slug != *plan_.step_slug) continue;
    steps_.emplace(step->slug, step.get());
    needs_flow_input_ = needs_flow_input_ || step->needs_flow_input;
    const auto timeout =
        step->options.timeout ? step->options.timeout : plan_.definition->options.timeout;
    longest_timeout_ = std::max(longest_timeout_, timeout.value_or(kDefaultTimeout));
  }
}

ExitCode Worker::run() {
  begin();
  if (state_ != State::stopped) loop_.run();
  return exit_code_.value_or(ExitCode::internal);
}

void Worker::handle(Event event) {
  const auto& cell = kWorkerGrid.at(state_, event);
  if (cell.kind == CellKind::bug) {
    PGFLOW_BUG(std::string(name(event)) + " in state " + std::string(name(state_)));
  }
  if (cell.kind == CellKind::go) {
    log::debug(
        "worker.state", {{"from", name(state_)}, {"event", name(event)}, {"to", name(cell.next)}}
    );
    state_ = cell.next;
    phase_timer_.stop();
  }
  act(cell.action);
}

void Worker::act(Action action) {
  switch (action) {
    case Action::none:
      return;
    case Action::poll:
      look_due_ = true;
      return pump();
    case Action::finish:
      if (drain_deadline_) limit_phase(until(*drain_deadline_));
      return check_idle();
    case Action::cancel:
      cancel_handlers();
      limit_phase(kCancelGrace);
      return check_idle();
    case Action::release:
      release_handlers();
      limit_phase(kLastWords);
      pump();
      return check_idle();
    case Action::close:
      limit_phase(kLastWords);
      return pump();
    case Action::leave:
      return leave();
  }
}

// --- starting

void Worker::begin() {
  if (!identity_.guest) watch_signals();
  if (!identity_.supervised()) {
    start_limit_ = SteadyClock::now() + kStartLimit;
    return connect();
  }
  supervisor_.emplace(
      loop_,
      *identity_.supervisor_socket,
      SupervisorLink::Events{
          .message = [this](const contract::FromSupervisor& message) { on_supervisor(message); },
          .lost =
              [this] {
                log::warn("supervisor.lost", {});
                has_supervisor_ = false;
                come_back();
                // The grace after the deadline belongs to the 25 seconds.
                drain(ExitCode::orphaned, kShutdownLimit - kCancelGrace, "the supervisor is gone");
              },
      }
  );
  has_supervisor_ = true;
  report(contract::Hello{
      .pid = static_cast<int>(::getpid()),
      .worker_id = identity_.worker_id.text(),
      .flow_slug = plan_.definition->slug,
      .step_slug = plan_.step_slug.value_or(""),
  });
  ping_timer_.start(kPingInterval, kPingInterval);
}

void Worker::watch_signals() {
  for (const int number : {SIGTERM, SIGINT, SIGQUIT}) {
    signals_.push_back(std::make_unique<uv::Signal>(loop_, number, [this](int n) { on_signal(n); })
    );
  }
  // Watched and dropped: a closed terminal or pipe is no reason to end, nor is a logrotate that
  // signals a whole group. (Ignoring them would be inherited by the handlers' children.)
  for (const int number : {SIGHUP, SIGUSR1, SIGPIPE}) {
    if (number == SIGHUP && !identity_.supervised()) continue;
    signals_.push_back(std::make_unique<uv::Signal>(loop_, number, [](int) {}));
  }
}

void Worker::connect() {
  log::info(
      "worker.starting",
      {{"queue", plan_.queue_name}, {"database", work_.connection().dsn().describe()}}
  );
  work_.open();
}

void Worker::on_work_up() {
  if (state_ != State::starting) return pump();
  start_up(work_.connection(), plan_, identity_, [this](const Result<void>& started) {
    on_started(started);
  });
}

// The database has done something for us. Merely connecting proves nothing: a standby accepts
// everybody and serves nobody.
void Worker::proven() {
  work_.proven();
  if (std::exchange(database_up_, true)) return;
  if (std::exchange(down_because_, std::nullopt)) log::info("database.up", {});
  report(contract::DatabaseState{.up = true});
}

void Worker::on_work_down(const Error& why) {
  asking_ = 0;  // whoever waited for an answer has been told, or never will be
  if (std::exchange(database_up_, false)) report(contract::DatabaseState{.up = false});
  // Each reason is said once, not each attempt to come back.
  if (std::exchange(down_because_, why.sqlstate) != why.sqlstate) log::warn("database.down", why);
  if (state_ != State::starting) return;
  if (!pg::is_database_down(why)) return refuse(why, store::exit_code_of(why));
  if (!identity_.supervised() && SteadyClock::now() > start_limit_)
    refuse(why, ExitCode::temporary);
}

// A supervisor knows whether the database is there, and lets its workers come back a few at a
// time.
void Worker::want_database() {
  if (!has_supervisor_) return come_back();
  report(contract::DatabaseWant{});
  permit_timer_.start(kAskAgain);
}

void Worker::come_back() {
  permit_timer_.stop();
  work_.admit();
  heartbeat_.admit();
}

void Worker::on_started(const Result<void>& started) {
  if (state_ != State::starting) return;
  if (!started) {
    if (pg::is_transient(started.error())) return work_.renew(started.error());
    return refuse(started.error(), store::exit_code_of(started.error()));
  }
  proven();
  heartbeat_.start(longest_timeout_);
  log::info("worker.ready", {{"queue", plan_.queue_name}, {"max_concurrent", concurrency_}});
  report(contract::Ready{.queue_name = plan_.queue_name});
  handle(Event::ready);
}

void Worker::refuse(const Error& why, ExitCode code) {
  log::error("worker.refused", why, {{"exit_code", number(code)}});
  report(contract::Fatal{
      .code = why.kind, .message = why.message, .detail = why.detail, .hint = why.hint
  });
  exit_code_ = code;
  handle(Event::refused);
}

// --- the work connection

void Worker::pump() {
  if (asking_ > 0 || !work_.is_up() || retry_timer_.is_running()) return;
  if (state_ == State::starting || state_ == State::stopped) return;
  if (lost_claim_pid_ != 0) return find_lost_claims();
  if (!unsettled_.empty()) return settle();
  if (state_ == State::closing) return say_goodbye();
  if (state_ == State::polling && look_due_ && free_slots() > 0) look();
}

void Worker::look() {
  // Nobody counts on a worker that the database has not heard of for a whole task's time.
  if (heartbeat_.unheard()) return poll_timer_.start(plan_.config.max_poll);
  look_due_ = false;
  asking_ = 1;
  claiming_ = true;
  const int asked = std::min(free_slots(), plan_.config.batch_size);
  const int backend_pid = work_.connection().backend_pid();
  store::TaskStore(work_.connection())
      .read_and_claim(
          {.queue_name = plan_.queue_name,
           .flow_slug = plan_.definition->slug,
           .step_slug = plan_.step_slug,
           .worker_id = identity_.worker_id,
           .quantity = asked,
           .with_flow_input = needs_flow_input_,
           .with_next_visible = !pace_.knows_next(SteadyClock::now())},
          [this, asked, backend_pid](Result<store::ClaimAnswer> answer) {
            asking_ = 0;
            claiming_ = false;
            if (answer) return take(std::move(*answer), asked);
            // It may have happened, and then tasks are ours that nobody runs.
            if (answer.error().kind == pg::kConnectionLost) lost_claim_pid_ = backend_pid;
            look_due_ = true;
            failed_query(answer.error(), "claiming");
            check_idle();
          }
      );
}

void Worker::take(store::ClaimAnswer answer, int asked) {
  proven();
  strays_.warn(answer.others);
  const int found = static_cast<int>(answer.tasks.size());
  queue_runs_dry_ = found < asked;
  for (store::ClaimedTask& task : answer.tasks) run(std::move(task));
  const Milliseconds pause =
      found > 0 ? pace_.after(asked, found)
                : pace_.after_empty(asked, answer.next_visible_in, SteadyClock::now());
  if (pause > 0ms) {
    poll_timer_.start(pause);
  } else {
    look_due_ = true;
  }
  // A wake-up that came meanwhile may be about a message that this look could not see yet.
  if (std::exchange(woken_, false) && !look_due_) look_soon();
  arm_deadlines();
  pump();
  check_idle();
}

// Somebody says that there may be work in the queue.
void Worker::wake() {
  if (state_ != State::polling) return;
  woken_ = claiming_;
  if (claiming_) return;
  look_soon();
  pump();
}

void Worker::look_soon() {
  const Milliseconds pause = pace_.wake(SteadyClock::now());
  if (pause > 0ms) return poll_timer_.start(pause);
  look_due_ = true;
}

void Worker::run(store::ClaimedTask claimed) {
  const auto now = SteadyClock::now();
  const auto task = std::make_shared<Task>();
  task->info = {
      .flow_slug = plan_.definition->slug,
      .run_id = claimed.run_id.text(),
      .step_slug = claimed.step_slug,
      .task_index = claimed.task_index,
      .msg_id = claimed.msg_id.value(),
      .queue_name = plan_.queue_name,
      .worker_id = identity_.worker_id.text(),
      .attempt = claimed.attempt,
      .max_attempts = claimed.max_attempts,
  };
  task->claimed_at = now;
  task->claimed = std::move(claimed);
  const Ticket ticket = ++next_ticket_;
  tasks_.emplace(ticket, task);

  // Claimed by the answer to a question from before the drain: given back without having run.
  if (state_ != State::polling) {
    task->outcome.emplace();
    unsettled_.push_back(ticket);
    return;
  }
  const auto step = steps_.find(task->claimed.step_slug);
  if (step == steps_.end()) PGFLOW_BUG("a verified flow gave a task of an unknown step");
  task->step = step->second;
  pool_.queue(ticket, [this, ticket, task](LazyResources& resources) {
    run_handler(ticket, task, resources);
  });
}

// On a pool thread.
void Worker::run_handler(
    Ticket ticket, const std::shared_ptr<Task>& task, LazyResources& resources
) {
  // Lost while it waited: nobody wants to know how it would end.
  if (task->stop.reason() != StopReason::none) return void(mailbox_.post({ticket, {}, {}}));
  const auto now = SteadyClock::now();
  task->began = now;
  TaskLogger logger(task->info);
  identity_.board->begin(resources.place(), task->info.msg_id);
  StepOutcome outcome = run_step(
      {.step = *task->step,
       .task = task->info,
       .input = input_of(*task->step, task->claimed),
       .flow_input = task->claimed.flow_input.value_or(""),
       .timeout = task->claimed.timeout,
       .deadline = now + task->claimed.timeout,
       .stop = task->stop,
       .log = logger},
      resources
  );
  identity_.board->end(resources.place());
  mailbox_.post({ticket, std::move(outcome), SteadyClock::now() - now});
}

void Worker::settle() {
  Batch completed, failed, released;
  std::vector<store::Completion> completions;
  std::vector<store::Failure> failures;
  std::vector<MessageId> releases;
  std::size_t bytes = 0;
  // Nobody waits behind a huge neighbour that has not been sent yet.
  std::stable_partition(unsettled_.begin(), unsettled_.end(), [&](Ticket ticket) {
    return tasks_.at(ticket)->outcome->text.size() <= kMostSettled;
  });
  for (const Ticket ticket : unsettled_) {
    const Task& task = *tasks_.at(ticket);
    const std::size_t size = task.outcome->text.size();
    if (bytes > 0 && bytes + size > kMostSettled) break;
    bytes += size;
    const store::TaskKey key{task.claimed.run_id, task.claimed.step_slug, task.claimed.task_index};
    switch (task.outcome->kind) {
      case StepOutcome::Kind::completed:
        completed.push_back(ticket);
        completions.push_back({key, task.claimed.attempt, task.outcome->text});
        break;
      case StepOutcome::Kind::failed:
      case StepOutcome::Kind::permanent:
        failed.push_back(ticket);
        failures.push_back(
            {key,
             task.claimed.attempt,
             task.outcome->text,
             task.outcome->kind == StepOutcome::Kind::permanent}
        );
        break;
      case StepOutcome::Kind::released:
        released.push_back(ticket);
        releases.push_back(task.claimed.msg_id);
        break;
    }
    if (alone_) break;
  }

  store::TaskStore store(work_.connection());
  const WorkerId me = identity_.worker_id;
  if (!completed.empty()) {
    ++asking_;
    store.complete(completions, me, [this, completed](const auto& result) {
      settled(completed, result);
    });
  }
  if (!failed.empty()) {
    ++asking_;
    store.fail(failures, me, [this, failed](const auto& result) { settled(failed, result); });
  }
  if (!released.empty()) {
    ++asking_;
    store.release(me, releases, [this, released](const Result<int>& result) {
      given_back(released, result);
    });
  }
}

void Worker::settled(const Batch& batch, const Result<std::vector<store::Settled>>& result) {
  --asking_;
  if (result) {
    proven();
    wake_others(batch, *result);
    // What is completed gives work to other queues, unless the flow has but one. A failure may be
    // back at once.
    const bool completed = tasks_.at(batch.front())->outcome->kind == StepOutcome::Kind::completed;
    if (!completed || !plan_.step_slug || !queue_runs_dry_) look_due_ = true;
    for (std::size_t i = 0; i < batch.size(); ++i) end_task(batch[i], result->at(i).outcome);
    tell_ended();
    return after_settling();
  }
  if (!is_data_error(result.error())) return failed_query(result.error(), "settling");
  // Something that was handed in cannot be stored. Alone, each task shows whether it is the one.
  if (batch.size() == 1) refuse_outcome(*tasks_.at(batch.front()), result.error());
  alone_ = true;
  pump();
}

void Worker::given_back(const Batch& batch, const Result<int>& count) {
  --asking_;
  if (!count) return failed_query(count.error(), "giving tasks back");
  proven();
  released_ += *count;
  report(contract::Work{plan_.queue_name});
  look_due_ = true;
  for (const Ticket ticket : batch) end_task(ticket, store::SettleOutcome::applied);
  tell_ended();
  after_settling();
}

// Whose step may be over has probably given work to the steps that wait for it. Probably is enough:
// a wake-up that is not needed costs one empty look, one that is missed a second.
void Worker::wake_others(const Batch& batch, const std::vector<store::Settled>& results) {
  if (!supervisor_) return;  // nobody to pass it on
  std::set<std::string_view> ended;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const Task& task = *tasks_.at(batch[i]);
    const bool is_final = task.outcome->kind == StepOutcome::Kind::completed ||
                          task.outcome->kind == StepOutcome::Kind::permanent ||
                          task.info.attempt >= task.info.max_attempts;
    // A map step ends with its last task, when its queue is empty.
    const bool may_end = task.step->kind != StepKind::map || queue_runs_dry_;
    if (is_final && may_end && results.at(i).outcome == store::SettleOutcome::applied)
      ended.insert(task.info.step_slug);
  }
  std::set<std::string_view> queues;
  for (const auto& step : plan_.definition->steps) {
    const bool waits =
        std::any_of(step->depends_on.begin(), step->depends_on.end(), [&](const auto& slug) {
          return ended.contains(slug);
        });
    if (!waits) continue;
    const auto route =
        std::find_if(plan_.routes.begin(), plan_.routes.end(), [&](const StepRoute& each) {
          return each.step_slug == step->slug;
        });
    queues.insert(route == plan_.routes.end() ? plan_.queue_name : route->queue_name);
  }
  for (const std::string_view queue : queues) report(contract::Work{std::string(queue)});
}

void Worker::after_settling() {
  std::erase_if(unsettled_, [&](Ticket ticket) { return !tasks_.contains(ticket); });
  if (unsettled_.empty()) alone_ = false;
  pump();
  check_idle();
}

// The database cannot store what this task ended with: the attempt fails and says so. If it does
// not even store that, the task is left to the recovery of stalled tasks.
void Worker::refuse_outcome(Task& task, const Error& why) {
  log::error(
      "task.refused_by_database",
      why,
      {{"run_id", task.info.run_id}, {"msg_id", task.claimed.msg_id}}
  );
  if (task.outcome->kind == StepOutcome::Kind::completed) {
    task.outcome = {
        StepOutcome::Kind::failed, "the database cannot store the output: " + why.message
    };
  } else {
    task.outcome = {StepOutcome::Kind::failed, "the database cannot store why the attempt failed"};
  }
}

void Worker::end_task(Ticket ticket, store::SettleOutcome result) {
  const auto task = tasks_.extract(ticket).mapped();
  const StepOutcome& outcome = *task->outcome;
  const auto took = std::chrono::duration_cast<Milliseconds>(task->ran);
  const bool applied =
      result == store::SettleOutcome::applied || result == store::SettleOutcome::already;
  const bool failed =
      outcome.kind == StepOutcome::Kind::failed || outcome.kind == StepOutcome::Kind::permanent;
  const bool is_surprise = !applied && !task->is_lost;
  ended_[applied ? text_of(outcome.kind) : store::name(result)].push_back(took.count());
  const auto level = is_surprise || failed ? log::Level::warn : log::Level::debug;
  if (!log::enabled(level)) return;
  std::vector<log::Field> fields{
      log::Field("step", task->info.step_slug),
      log::Field("run_id", task->info.run_id),
      log::Field("msg_id", task->claimed.msg_id),
      log::Field("attempt", task->info.attempt),
      log::Field("outcome", text_of(outcome.kind)),
      log::Field("settled", store::name(result)),
      log::Field("duration_ms", took),
  };
  // Its beginning: the whole text is in the database.
  constexpr std::size_t kShown = 200;
  if (failed) fields.emplace_back("error", std::string_view(outcome.text).substr(0, kShown));
  log::write(level, applied ? "task.ended" : "task.not_ours_any_more", fields);
}

void Worker::tell_ended() {
  constexpr auto kMost = static_cast<std::ptrdiff_t>(contract::TasksEnded::kMost);
  for (const auto& [outcome, took] : ended_) {
    for (auto from = took.begin(); from != took.end();) {
      const auto to = from + std::min(kMost, took.end() - from);
      report(contract::TasksEnded{.outcome = std::string(outcome), .milliseconds = {from, to}});
      from = to;
    }
  }
  ended_.clear();
}

void Worker::find_lost_claims() {
  ++asking_;
  std::vector<MessageId> keep;
  for (const auto& [ticket, task] : tasks_) {
    if (!task->is_lost) keep.push_back(task->claimed.msg_id);
  }
  store::TaskStore(work_.connection())
      .release_lost(identity_.worker_id, lost_claim_pid_, keep, [this](const Result<int>& count) {
        --asking_;
        if (!count) return failed_query(count.error(), "looking for lost claims");
        proven();
        lost_claim_pid_ = 0;
        released_ += *count;
        if (*count > 0) log::info("claim.lost_and_released", {{"tasks", *count}});
        pump();
        check_idle();
      });
}

void Worker::say_goodbye() {
  if (std::exchange(goodbye_said_, true)) return;
  ++asking_;
  store::WorkerStore(work_.connection())
      .mark_stopped(identity_.worker_id, [this](const Result<void>& told) {
        --asking_;
        if (!told) log::warn("worker.goodbye_failed", told.error());
        handle(Event::closed);
      });
}

void Worker::failed_query(const Error& why, std::string_view doing) {
  if (why.kind == pg::kConnectionLost) return;  // the link says so and comes back
  if (pg::is_database_down(why)) return work_.renew(why);
  log::warn("database.error", why, {{"doing", doing}});
  if (pg::is_transient(why)) return retry_timer_.start(kConflictPause);
  // While polling, an error that does not pass means that this worker does not fit the database any
  // more: what is in hand is still tried, because nothing else can save it.
  if (state_ == State::polling) drain(store::exit_code_of(why), {}, "the database refuses us");
  retry_timer_.start(kErrorPause);
}

// --- handlers

void Worker::on_ended(std::vector<Ended> ended) {
  SteadyClock::duration ran{};
  for (const Ended& end : ended) ran += end.ran;
  window_.ended(static_cast<int>(ended.size()), ran, SteadyClock::now());
  for (Ended& end : ended) {
    if (const auto code = end.outcome.end_worker; code && state_ == State::polling) {
      drain(*code, kShutdownLimit, end.outcome.text);
    }
    const auto found = tasks_.find(end.ticket);
    // Given back already.
    if (found == tasks_.end() || found->second->outcome) {
      --abandoned_;
      continue;
    }
    found->second->outcome = std::move(end.outcome);
    found->second->ran = end.ran;
    hand_over(end.ticket);
  }
  // With no handler left, only the database can keep a drain from its end; not for ever.
  if (state_ == State::draining && running() == 0 && !phase_timer_.is_running())
    limit_phase(kShutdownLimit);
  pump();
  check_idle();
}

// To the database, if it waits for this task's end.
void Worker::hand_over(Ticket ticket) {
  if (!tasks_.at(ticket)->is_lost) return unsettled_.push_back(ticket);
  // Not even to be refused: the message may be in our hands again, with its next attempt.
  end_task(ticket, store::SettleOutcome::superseded);
  tell_ended();
  look_due_ = true;
}

std::vector<store::TaskInHand> Worker::in_hand() const {
  std::vector<store::TaskInHand> running;
  for (const auto& [ticket, task] : tasks_) {
    if (!task->outcome && !task->is_lost)
      running.push_back({task->claimed.msg_id, task->claimed.attempt});
  }
  return running;
}

// Its run was cancelled or has failed, its flow is deleted, or somebody took it from us. The answer
// may be older than the task's end.
void Worker::on_lost(store::TaskInHand lost) {
  for (const auto& [ticket, task] : tasks_) {
    if (store::TaskInHand{task->claimed.msg_id, task->claimed.attempt} != lost) continue;
    if (task->outcome || task->is_lost) continue;
    task->is_lost = true;
    log::info(
        "task.cancelled",
        {{"step", task->info.step_slug},
         {"run_id", task->info.run_id},
         {"msg_id", task->claimed.msg_id},
         {"attempt", task->info.attempt}}
    );
    request_stop(task, StopReason::cancelled);
  }
}

void Worker::check_deadlines() {
  const auto now = SteadyClock::now();
  bool found_stuck = false;
  bool waits_too_long = false;
  for (const auto& [ticket, task] : tasks_) {
    if (task->outcome || next_check(*task) > now) continue;
    const auto began = task->began.load();
    if (began == SteadyClock::time_point()) {
      waits_too_long = true;
      continue;
    }
    const std::array<log::Field, 4> fields{
        log::Field("run_id", task->info.run_id),
        log::Field("msg_id", task->claimed.msg_id),
        log::Field("attempt", task->info.attempt),
        log::Field("timeout_s", task->claimed.timeout.count()),
    };
    if (!task->grace_ends) {
      log::write(log::Level::warn, "task.timed_out", fields);
      request_stop(task, StopReason::timeout);
      task->grace_ends = now + kCancelGrace + task->step->stop_grace;
    } else {
      // A thread cannot be killed, so the process has to end for it.
      log::write(log::Level::error, "task.ignores_its_deadline", fields);
      report(contract::Stuck{
          .msg_id = task->info.msg_id,
          .run_id = task->info.run_id,
          .task_index = task->info.task_index,
          .over_milliseconds = since(began + task->claimed.timeout).count(),
      });
      task->is_stuck = found_stuck = true;
    }
  }
  if (waits_too_long) give_back_waiting();
  arm_deadlines();
  if (found_stuck) {
    if (state_ == State::polling)
      drain(ExitCode::handler_stuck, kStuckLimit, "a handler ignores its deadline");
    check_idle();
  }
  pump();
}

// When something about this task may be due.
SteadyClock::time_point Worker::next_check(const Task& task) {
  if (task.is_stuck) return kNever;
  if (task.grace_ends) return *task.grace_ends;
  const auto began = task.began.load();
  return began == SteadyClock::time_point() ? task.claimed_at + kLongestWait
                                            : began + task.claimed.timeout;
}

// What was claimed ahead and has not begun: others may have free handlers.
void Worker::give_back_waiting() {
  window_.close();
  for (const Ticket ticket : pool_.take_back()) {
    const auto& task = tasks_.at(ticket);
    if (task->outcome) continue;
    task->outcome.emplace();
    hand_over(ticket);
  }
}

void Worker::arm_deadlines() {
  auto nearest = kNever;
  for (const auto& [ticket, task] : tasks_) {
    if (!task->outcome) nearest = std::min(nearest, next_check(*task));
  }
  if (nearest == kNever) return deadline_timer_.stop();
  deadline_timer_.start(until(nearest));
}

// On a pool thread: the handler's stop callbacks are user code, and the loop must not wait for it.
void Worker::request_stop(const std::shared_ptr<Task>& task, StopReason reason) {
  const bool runs = pool_.submit([task, reason](LazyResources&) { task->stop.request(reason); });
  // Without a thread for it, it would wait for the very handler that it is to stop.
  if (!runs) task->stop.request(reason);
}

int Worker::running() const {
  return static_cast<int>(std::count_if(tasks_.begin(), tasks_.end(), [](const auto& entry) {
    return !entry.second->outcome;
  }));
}

bool Worker::only_stuck_ones_run() const {
  return !tasks_.empty() && std::all_of(tasks_.begin(), tasks_.end(), [](const auto& entry) {
    return !entry.second->outcome && entry.second->is_stuck;
  });
}

// --- ending

void Worker::drain(ExitCode code, std::optional<Milliseconds> limit, std::string_view why) {
  log::info(
      "worker.draining",
      {{"why", why},
       {"running", running()},
       {"state", name(state_)},
       {"limit_ms", limit.value_or(0ms)}}
  );
  // The first reason decides the exit code; a lost supervisor outranks it, because nobody is there
  // to hear the other.
  if (!exit_code_ || code == ExitCode::orphaned) exit_code_ = code;
  if (limit) {
    const auto deadline = SteadyClock::now() + *limit;
    drain_deadline_ = std::min(drain_deadline_.value_or(deadline), deadline);
  }
  give_back_waiting();
  handle(Event::drain);
  pump();
}

void Worker::limit_phase(Milliseconds limit) {
  phase_timer_.start(limit);
}

void Worker::check_idle() {
  const bool ending =
      state_ == State::draining || state_ == State::cancelling || state_ == State::releasing;
  if (!ending || claiming_ || lost_claim_pid_ != 0) return;
  if (tasks_.empty()) return handle(Event::idle);
  if (only_stuck_ones_run()) handle(Event::stuck);
}

void Worker::cancel_handlers() {
  for (const auto& [ticket, task] : tasks_) {
    // A lost one was told already, by a thread that this one could overtake.
    if (!task->outcome && !task->is_lost) request_stop(task, StopReason::shutdown);
  }
}

void Worker::release_handlers() {
  clean_ = false;
  for (auto each = tasks_.begin(); each != tasks_.end();) {
    const auto [ticket, task] = *each++;
    if (task->outcome) continue;
    task->outcome.emplace();
    if (task->is_stuck) {
      *task->outcome = {
          StepOutcome::Kind::failed,
          "timed out after " + std::to_string(task->claimed.timeout.count()) +
              " s; the handler ignored its deadline, so its worker gave itself up"
      };
    } else if (!task->is_lost) {
      log::warn(
          "task.given_back", {{"run_id", task->info.run_id}, {"msg_id", task->claimed.msg_id}}
      );
    }
    hand_over(ticket);
    ++abandoned_;
  }
}

void Worker::leave() {
  const bool unsettled = !tasks_.empty() || lost_claim_pid_ != 0;
  if (unsettled) {
    log::error(
        "worker.left_tasks_behind",
        {{"tasks", tasks_.size()},
         {"hint",
          "The database is out of reach. They run again after their timeout, or as soon as "
          "a supervisor releases this worker."}}
    );
    if (!exit_code_ || exit_code_ == ExitCode::ok) exit_code_ = ExitCode::temporary;
  }
  report(contract::Drained{.clean = clean_ && !unsettled, .released = released_});
  if (supervisor_) supervisor_->flush();
  heartbeat_.stop();
  work_.close();
  mailbox_.close();
  log::info(
      "worker.stopped",
      {{"exit_code", number(exit_code_.value_or(ExitCode::ok))}, {"released", released_}}
  );
  loop_.stop();
}

// --- the world

void Worker::on_signal(int number) {
  const std::string_view signal = number == SIGTERM  ? "SIGTERM"
                                  : number == SIGINT ? "SIGINT"
                                                     : "SIGQUIT";
  if (identity_.supervised()) {
    // Only the supervisor escalates: a repeated signal is somebody who signals a whole group.
    if (std::exchange(stop_asked_, true)) return;
    report(contract::ExternalTerm{number});
    return drain(ExitCode::ok, kShutdownLimit, signal);
  }
  if (!std::exchange(stop_asked_, true)) return drain(ExitCode::ok, {}, signal);
  log::warn("worker.forced", {{"signal", signal}});
  exit_code_ = ExitCode::forced;
  handle(Event::again);
}

void Worker::on_supervisor(const contract::FromSupervisor& message) {
  if (const auto* welcome = std::get_if<contract::Welcome>(&message)) {
    set_concurrency(welcome->concurrency);
    if (state_ == State::starting && !welcomed_) connect();
    welcomed_ = true;
  } else if (const auto* limits = std::get_if<contract::SetLimits>(&message)) {
    set_concurrency(limits->concurrency);
    pump();
  } else if (std::get_if<contract::Wake>(&message)) {
    wake();
  } else if (std::get_if<contract::DatabasePermit>(&message)) {
    come_back();
  } else if (const auto* order = std::get_if<contract::Drain>(&message)) {
    std::optional<Milliseconds> limit;
    if (order->deadline_milliseconds) limit.emplace(*order->deadline_milliseconds);
    drain(ExitCode::ok, limit, order->reason);
  } else if (const auto* unknown = std::get_if<contract::Unknown>(&message)) {
    log::debug("supervisor.unknown_message", {{"type", unknown->type}});
  }
}

void Worker::set_concurrency(int concurrency) {
  concurrency_ = std::max(1, concurrency);
  pool_.resize(concurrency_);
  look_due_ = true;
}

void Worker::on_pulse(Pulse pulse) {
  switch (pulse) {
    case Pulse::deprecated:
      if (state_ == State::polling)
        drain(ExitCode::fenced, {}, "the database has deprecated this worker");
      return;
    case Pulse::disowned:
      if (state_ != State::polling && state_ != State::draining) return;
      log::error(
          "worker.disowned",
          {{"hint", "Its row in pgflow.workers is gone or stopped, so others may run its tasks."}}
      );
      exit_code_ = ExitCode::internal;
      // Its tasks went with its row, whether or not the same answer could see that.
      for (const auto& task : in_hand()) on_lost(task);
      return handle(Event::disowned);
  }
}

void Worker::ping() {
  report(contract::Ping{
      .loop_seq = ++pings_,
      .heartbeat_seq = heartbeat_.beats(),
      .in_flight = static_cast<int>(tasks_.size()),
      .concurrency = concurrency_,
      .rss_bytes = resident_bytes()
  });
}

void Worker::report(const contract::FromWorker& message) {
  if (supervisor_) supervisor_->send(message);
}

}  // namespace pgflow::worker
