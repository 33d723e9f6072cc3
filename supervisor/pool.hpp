// All workers of one step, or of one flow in queue mode "flow": how many are wanted, which ones
// leave, and how they are replaced.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "supervisor/crash_budget.hpp"
#include "supervisor/overrides.hpp"
#include "supervisor/slot.hpp"

namespace pgflow::supervisor {

// Orders only change what is wanted; converge() makes it so, as far as it can at the moment. It is
// called again after every change.
class Pool {
 public:
  Pool(
      uv::Loop& loop,
      SlotHost& host,
      const settings::FlowSettings& flow,
      const settings::StepSettings& step,
      const contract::Manifest& manifest
  );

  const settings::FlowSettings& flow() const { return flow_; }
  const settings::StepSettings& step() const { return step_; }
  const contract::Manifest& manifest() const { return manifest_; }
  // "flow/step", or "flow" in queue mode "flow".
  const std::string& name() const { return name_; }
  // What its workers register as.
  const std::string& function_name() const { return function_name_; }
  // Tasks that a worker which starts now may run at a time.
  int max_concurrent() const;

  // --- orders

  // `pause_limit`: after it the tasks of a pool that is paused by this are given back.
  void apply(const Override& override, std::optional<Milliseconds> pause_limit = {});
  const Override& override() const { return override_; }
  // Why the database forbids it, if it does.
  void fence(std::optional<std::string> reason) { fenced_ = std::move(reason); }
  // Every worker that lives now is to be replaced; a pool that has failed tries again.
  void restart();
  void replace(WorkerId worker_id, std::string_view why);
  // For good.
  void stop(Milliseconds deadline);
  void kill();

  void converge();
  // Once a second; `grace`: the supervisor itself stood still, so silence proves nothing.
  void tick(SteadyClock::time_point now, bool grace);
  // There may be work in `queue_name`.
  void wake(std::string_view queue_name, const Slot* except);
  void wake();

  // --- from its slots

  bool was_ready() const { return was_ready_; }
  bool has_failed() const { return !failure_.empty(); }
  void worker_ready() { was_ready_ = true; }
  void task_ended() { budget_.task_ended(); }
  void worker_exited(const Verdict& verdict);

  // --- facts

  int count(SlotState state) const;
  int processes_alive() const;
  Slot* find(WorkerId worker_id) const;
  // Enough to be of use: one ready worker, or none is wanted.
  bool is_ready() const;
  PoolView view() const;

 private:
  // A worker that is to be replaced: `incoming` comes before it leaves, or it leaves first.
  struct Replacement {
    WorkerId outgoing;
    Slot* incoming = nullptr;
  };

  PoolState state() const;
  int processes() const { return override_.processes.value_or(step_.processes); }
  int wanted();
  std::vector<Slot*> up() const;
  Slot& fresh_slot();
  void replace_next();
  void finish_replacement();
  void shrink(std::size_t wanted);
  void look_for_worn_out(SteadyClock::time_point now);
  void fail(const std::string& reason);

  uv::Loop& loop_;
  SlotHost& host_;
  const settings::FlowSettings& flow_;
  const settings::StepSettings& step_;
  const contract::Manifest& manifest_;
  const std::string name_;
  const std::string function_name_;

  Override override_;
  std::optional<Milliseconds> pause_limit_;
  std::optional<std::string> fenced_;
  std::string failure_;     // not empty: permanent, no further starts
  bool was_ready_ = false;  // a worker of it was, since the supervisor started
  bool stopping_ = false;

  CrashBudget budget_;
  bool probing_ = false;

  std::map<WorkerId, std::string> worn_out_;  // to be replaced, and why
  std::optional<Replacement> replacement_;

  std::vector<std::unique_ptr<Slot>> slots_;
};

}  // namespace pgflow::supervisor
