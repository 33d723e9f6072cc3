// The worker: claims tasks of one queue, runs them, settles them, and ends the way it is told to.
#pragma once

#include <pgflow/detail/worker_plan.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/exit_code.hpp"
#include "store/task_store.hpp"
#include "uv/mailbox.hpp"
#include "uv/signal.hpp"
#include "uv/timer.hpp"
#include "worker/claim_window.hpp"
#include "worker/handler_pool.hpp"
#include "worker/heartbeat.hpp"
#include "worker/identity.hpp"
#include "worker/link.hpp"
#include "worker/poller.hpp"
#include "worker/step_runner.hpp"
#include "worker/supervisor_link.hpp"
#include "worker/worker_state.hpp"

namespace pgflow::worker {

// One thread, the loop's, owns all of it; handler threads reach it through the mailbox.
class Worker {
 public:
  Worker(uv::Loop& loop, detail::WorkerPlan plan, Identity identity, const pg::Dsn& dsn);

  // Blocks until the worker has ended; the process's exit code.
  ExitCode run();

  // Handlers still run that nobody waits for any more: end the process without joining them.
  bool leaves_handlers_behind() const { return abandoned_ > 0; }

 private:
  using Milliseconds = std::chrono::milliseconds;

  // A claimed task, from its claim until its end is committed.
  struct Task {
    store::ClaimedTask claimed;
    TaskInfo info;
    const StepDefinition* step;
    SteadyClock::time_point claimed_at;
    // When its handler began, as the handler's thread says; the epoch: it waits for its turn.
    std::atomic<SteadyClock::time_point> began{SteadyClock::time_point()};
    TaskStop stop;
    // Loop thread only.
    std::optional<StepOutcome> outcome;                 // empty: its handler runs, or waits
    SteadyClock::duration ran{};                        // its handler, when it has ended
    std::optional<SteadyClock::time_point> grace_ends;  // it was told that its time is over
    bool is_stuck = false;  // has ignored its deadline and the stop token
    bool is_lost = false;   // not ours any more: its end concerns nobody
  };
  using Ticket =
      std::uint64_t;  // a task's number here: a message id comes back with its next attempt
  using Batch = std::vector<Ticket>;
  struct Ended {
    Ticket ticket;
    StepOutcome outcome;
    SteadyClock::duration ran{};  // its handler
  };

  void handle(Event event);
  void act(Action action);

  // Starting.
  void begin();
  void watch_signals();
  void connect();
  void on_work_up();
  void proven();
  void want_database();
  void come_back();
  void on_work_down(const Error& why);
  void on_started(const Result<void>& started);
  void refuse(const Error& why, ExitCode code);

  // The work connection does one thing at a time, the most urgent first.
  void pump();
  void look();
  void take(store::ClaimAnswer answer, int asked);
  void wake();
  void look_soon();
  void wake_others(const Batch& batch, const std::vector<store::Settled>& results);
  void run(store::ClaimedTask claimed);
  void run_handler(Ticket ticket, const std::shared_ptr<Task>& task, LazyResources& resources);
  void settle();
  void settled(const Batch& batch, const Result<std::vector<store::Settled>>& result);
  void given_back(const Batch& batch, const Result<int>& count);
  void after_settling();
  void refuse_outcome(Task& task, const Error& why);
  void end_task(Ticket ticket, store::SettleOutcome result);
  void tell_ended();
  void find_lost_claims();
  void say_goodbye();
  void failed_query(const Error& why, std::string_view doing);

  // Handlers.
  void on_ended(std::vector<Ended> ended);
  void hand_over(Ticket ticket);
  std::vector<store::TaskInHand> in_hand() const;
  void on_lost(store::TaskInHand lost);
  void check_deadlines();
  void arm_deadlines();
  static SteadyClock::time_point next_check(const Task& task);
  void give_back_waiting();
  void request_stop(const std::shared_ptr<Task>& task, StopReason reason);

  // Ending.
  void drain(ExitCode code, std::optional<Milliseconds> limit, std::string_view why);
  void limit_phase(Milliseconds limit);
  void check_idle();
  void cancel_handlers();
  void release_handlers();
  void leave();

  // The world.
  void on_signal(int number);
  void on_supervisor(const contract::FromSupervisor& message);
  void on_pulse(Pulse pulse);
  void set_concurrency(int concurrency);
  void ping();
  void report(const contract::FromWorker& message);

  int running() const;  // handlers
  bool only_stuck_ones_run() const;
  int free_slots() const {
    return concurrency_ + window_.ahead(concurrency_) - static_cast<int>(tasks_.size());
  }

  uv::Loop& loop_;
  // Immutable after construction.
  const detail::WorkerPlan plan_;
  const Identity identity_;
  const std::string application_name_;
  std::map<std::string, const StepDefinition*> steps_;  // those that this worker serves
  bool needs_flow_input_ = false;
  std::chrono::seconds longest_timeout_{0};

  // What we are and what we are asked to be.
  State state_ = State::starting;
  int concurrency_;
  bool has_supervisor_ = false;
  bool welcomed_ = false;
  bool stop_asked_ = false;  // by a signal
  std::optional<ExitCode> exit_code_;
  std::optional<SteadyClock::time_point> drain_deadline_;
  int released_ = 0;
  bool clean_ = true;
  std::uint64_t pings_ = 0;

  // Tasks.
  Ticket next_ticket_ = 0;
  std::map<Ticket, std::shared_ptr<Task>> tasks_;
  std::vector<Ticket> unsettled_;  // ended, in the order of their ends, not in a batch yet
  std::map<std::string_view, std::vector<std::int64_t>>
      ended_;  // milliseconds by outcome, not told yet
  int abandoned_ = 0;

  // The work connection.
  int asking_ = 0;          // queries that are out
  bool claiming_ = false;   // one of them is a claim
  int lost_claim_pid_ = 0;  // backend whose claim may have happened unseen; 0: none
  bool alone_ = false;      // a batch was refused: settle one by one
  bool look_due_ = false;
  bool woken_ = false;  // while a look was out
  bool queue_runs_dry_ = true;
  bool goodbye_said_ = false;
  bool database_up_ = false;                 // it has answered on this connection
  std::optional<std::string> down_because_;  // the SQLSTATE that was said; empty: not down
  SteadyClock::time_point start_limit_;

  PollPace pace_;
  ClaimWindow window_;
  StrayMessages strays_;
  uv::Timer phase_timer_;
  uv::Timer poll_timer_;
  uv::Timer retry_timer_;
  uv::Timer deadline_timer_;
  uv::Timer ping_timer_;
  uv::Timer permit_timer_;
  std::vector<std::unique_ptr<uv::Signal>> signals_;
  std::optional<SupervisorLink> supervisor_;
  Link work_;
  Heartbeat heartbeat_;
  uv::Mailbox<Ended> mailbox_;
  HandlerPool pool_;  // last: its threads end before the mailbox they post to
};

}  // namespace pgflow::worker
