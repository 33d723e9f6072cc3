// One place for one worker process: keeps it filled while it is wanted.
#pragma once

#include <chrono>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.hpp"
#include "contract/manifest.hpp"
#include "supervisor/autopsy.hpp"
#include "supervisor/control/metrics.hpp"
#include "supervisor/process_tree.hpp"
#include "supervisor/release_journal.hpp"
#include "supervisor/restart_policy.hpp"
#include "supervisor/slot_state.hpp"
#include "supervisor/snapshot.hpp"
#include "supervisor/worker_process.hpp"
#include "uv/loop.hpp"
#include "uv/timer.hpp"

namespace pgflow::supervisor {

class Pool;
class Slot;

// What a slot needs from the supervisor around it.
class SlotHost {
 public:
  virtual ~SlotHost() = default;
  // Slot::start follows when its turn has come.
  virtual void ask_permission(Slot& slot) = 0;
  virtual void leave_queue(Slot& slot) = 0;
  // `swept` follows when what a dead worker left is gone.
  virtual void sweep(Remains remains, std::function<void()> swept) = 0;
  // Whether the kernel has killed something because memory ran out, and nobody said so yet.
  virtual bool claim_oom_kill() = 0;
  virtual void release(Release release) = 0;
  // A worker has ended what others may have waited for in this queue.
  virtual void wake_queue(std::string_view queue_name, const Slot* except) = 0;
  // Told after every change of a slot, and of what is in its hands.
  virtual void changed() = 0;
  // Its worker wants to connect again: admit_to_database() follows when its turn has come.
  virtual void want_database(WorkerId worker_id) = 0;
  virtual void exited(ExitView exit) = 0;
  virtual void said(WorkerLine line) = 0;
  // For the connections of one worker more than wanted.
  virtual bool has_room() const = 0;
  virtual bool database_up() const = 0;
  virtual const settings::Settings& settings() const = 0;
  virtual const std::string& generation() const = 0;
  virtual Metrics& metrics() = 0;
};

class Slot {
 public:
  Slot(uv::Loop& loop, SlotHost& host, Pool& pool, int number);
  Slot(const Slot&) = delete;
  Slot& operator=(const Slot&) = delete;

  // Orders.
  void want_up();
  // Without a deadline each task ends by its own time-out. The earliest deadline stands.
  void want_down(std::optional<Milliseconds> deadline, const std::string& reason);
  // Its worker finishes, then another one comes.
  void leave_and_return(const std::string& reason);
  void kill();
  void give_up();
  // Its end by our hand, and another worker.
  void condemn(std::string reason);
  void set_concurrency(int max_concurrent);
  void admit_to_database();

  // The permission that was asked for.
  void start();
  // There may be work in its queue.
  void wake();
  // Once a second; `grace`: the supervisor itself stood still, so silence proves nothing.
  void check_watchdog(SteadyClock::time_point now, bool grace);

  SlotState state() const { return state_; }
  bool wanted_up() const { return wanted_up_; }
  int number() const { return number_; }
  Pool& pool() const { return pool_; }
  std::string name() const;
  // Of the process; nil, zero, without one.
  WorkerId worker_id() const { return worker_id_; }
  int in_flight() const;  // handlers that run at this moment
  std::int64_t tasks_done() const { return tasks_done_; }
  std::int64_t rss_bytes() const { return last_.rss_bytes; }
  SteadyClock::time_point started_at() const { return started_at_; }
  Milliseconds ready_for(SteadyClock::time_point now) const;
  // The queue that its worker polls; empty before it is ready.
  const std::string& queue_name() const { return queue_name_; }
  SlotView view() const;

 private:
  void handle(SlotEvent event);
  void ask_to_drain();
  void act(SlotAction action);

  void on_message(contract::FromWorker message);
  void on_line(std::string_view line);
  void on_broken(const Error& error);
  void on_exit(uv::ChildProcess::Exit exit);
  void bury();

  void hear(const contract::Hello& hello);
  void hear(const contract::Ready& ready);
  void hear(const contract::Ping& ping);
  void hear(const contract::TasksEnded& tasks);
  void hear(const contract::Stuck& stuck);
  void hear(const contract::Work& work);
  void hear(const contract::DatabaseState& database);
  void hear(const contract::DatabaseWant& want);
  void hear(const contract::Drained& drained);
  void hear(const contract::ExternalTerm& term);
  void hear(const contract::Fatal& fatal);
  void hear(const contract::Unknown& unknown);

  void on_start_deadline();

  uv::Loop& loop_;
  SlotHost& host_;
  Pool& pool_;
  const int number_;
  const std::filesystem::path lock_path_;

  SlotState state_ = SlotState::down;
  bool wanted_up_ = false;
  RestartPolicy policy_;
  Milliseconds next_wait_{0};
  std::optional<ExitView> last_exit_;

  SteadyClock::time_point next_start_at_;

  // The drain that was ordered.
  std::optional<SteadyClock::time_point> drain_deadline_;
  std::string drain_reason_;

  // The process, from start() to bury().
  std::unique_ptr<WorkerProcess> process_;
  WorkerId worker_id_;  // nil without a process
  LastMoments last_;
  std::deque<std::string> last_lines_;
  bool said_hello_ = false;
  std::string queue_name_;
  SteadyClock::time_point started_at_;
  std::optional<SteadyClock::time_point> ready_at_;
  std::optional<SteadyClock::time_point> ended_at_;
  int concurrency_ = 0;  // as it was told
  std::int64_t tasks_done_ = 0;
  std::uint64_t loop_seq_ = 0;
  SteadyClock::time_point moved_at_;  // when loop_seq_ last changed
  std::uint64_t heartbeat_seq_ = 0;
  SteadyClock::time_point beat_at_;  // when heartbeat_seq_ last changed

  uv::Timer restart_timer_;
  uv::Timer deadline_timer_;  // of the start, then of the drain, then of an abort
  uv::Timer broken_timer_;
};

}  // namespace pgflow::supervisor
