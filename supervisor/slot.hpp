// One place for one worker process: keeps it filled while it is wanted.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.hpp"
#include "contract/manifest.hpp"
#include "supervisor/autopsy.hpp"
#include "supervisor/release_journal.hpp"
#include "supervisor/restart_policy.hpp"
#include "supervisor/slot_state.hpp"
#include "supervisor/snapshot.hpp"
#include "supervisor/worker_process.hpp"
#include "uv/loop.hpp"
#include "uv/timer.hpp"

namespace pgflow::supervisor {

class Slot;

// All slots of one step, or of one flow in queue mode "flow".
struct Pool {
  const settings::FlowSettings& flow;
  const settings::StepSettings& step;
  const contract::Manifest& manifest;
  std::string failure{};   // not empty: permanent, no further starts
  bool was_ready = false;  // a worker of it was, since the supervisor started
};

// What a slot needs from the supervisor around it.
class SlotHost {
 public:
  virtual ~SlotHost() = default;
  // Slot::start follows when its turn has come.
  virtual void ask_permission(Slot& slot) = 0;
  virtual void leave_queue(Slot& slot) = 0;
  virtual void release(Release release) = 0;
  virtual void pool_failed(Pool& pool, const std::string& reason) = 0;
  // A worker has ended what others may have waited for in this queue.
  virtual void wake_queue(std::string_view queue_name, const Slot* except) = 0;
  virtual void changed() = 0;
  virtual bool database_up() const = 0;
  virtual const settings::Settings& settings() const = 0;
  virtual const std::string& generation() const = 0;
};

class Slot {
 public:
  Slot(uv::Loop& loop, SlotHost& host, Pool& pool, int number);
  Slot(const Slot&) = delete;
  Slot& operator=(const Slot&) = delete;

  // Orders.
  void want_up();
  void want_down(Milliseconds deadline, const std::string& reason);
  void kill();
  void give_up();

  // The permission that was asked for.
  void start();
  // There may be work in its queue.
  void wake();
  // Once a second; `grace`: the supervisor itself stood still, so silence proves nothing.
  void check_watchdog(SteadyClock::time_point now, bool grace);

  SlotState state() const { return state_; }
  // The queue that its worker polls; empty before it is ready.
  const std::string& queue_name() const { return queue_name_; }
  Pool& pool() const { return pool_; }
  SlotView view() const;

 private:
  void handle(SlotEvent event);
  void act(SlotAction action);

  void on_message(contract::FromWorker message);
  void on_broken(const Error& error);
  void on_exit(uv::ChildProcess::Exit exit);
  void sweep();
  void bury();

  void hear(const contract::Hello& hello);
  void hear(const contract::Ready& ready);
  void hear(const contract::Ping& ping);
  void hear(const contract::TaskStart& task);
  void hear(const contract::TaskEnd& task);
  void hear(const contract::Stuck& stuck);
  void hear(const contract::Work& work);
  void hear(const contract::DatabaseState& database);
  void hear(const contract::Drained& drained);
  void hear(const contract::Fatal& fatal);
  void hear(const contract::Unknown& unknown);

  void condemn(std::string reason);
  void on_start_deadline();
  Milliseconds ready_for() const;
  std::string name() const;

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

  // The drain that was ordered.
  Milliseconds drain_deadline_{0};
  std::string drain_reason_;

  // The process, from start() to bury().
  std::unique_ptr<WorkerProcess> process_;
  WorkerId worker_id_;  // nil without a process
  LastMoments last_;
  bool said_hello_ = false;
  std::string queue_name_;
  SteadyClock::time_point started_at_;
  std::optional<SteadyClock::time_point> ready_at_;
  std::optional<SteadyClock::time_point> ended_at_;
  std::uint64_t loop_seq_ = 0;
  SteadyClock::time_point moved_at_;  // when loop_seq_ last changed

  uv::Timer restart_timer_;
  uv::Timer deadline_timer_;  // of the start, then of the drain, then of the sweep
  uv::Timer broken_timer_;
};

}  // namespace pgflow::supervisor
