// The fences around this supervisor's functions: hears of them, tells when they change, says when
// nothing of them runs any more.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "settings/settings.hpp"
#include "store/fence_store.hpp"
#include "store/wake_listener.hpp"
#include "supervisor/snapshot.hpp"
#include "uv/timer.hpp"

namespace pgflow::supervisor {

// Every 2 s, and at once when the channel pgflow_fences speaks, it writes down that this supervisor
// lives and asks which fences stand around its functions. How it is used:
//
//   * start() when the schema is known to fit, with the functions of all pools; before the first
//     worker is spawned. `on_change` comes with the first answer, also when no fence stands, and
//     then whenever the set changes. Until then known() is false: spawn nothing.
//   * In `on_change`: a pool whose function is in a fence is quiet from now on; all others are not.
//     Once the last worker of a fence's functions is reaped: ack(fence_id). It may be called more
//     than once, and while the database is away: it is kept and sent when it can be.
//   * look() when the database is up again.
//   * stop() when the last worker is reaped, so that nobody waits for this supervisor.
//
// While the database is away the last answer holds: no outage lifts a fence.
class FenceWatch {
 public:
  using OnChange = std::function<void(const std::vector<FenceView>& standing)>;

  FenceWatch(
      uv::Loop& loop, pg::Connection& connection, store::WakeListener& ears, OnChange on_change
  );
  FenceWatch(const FenceWatch&) = delete;
  FenceWatch& operator=(const FenceWatch&) = delete;

  void start(std::string generation, std::string name, std::vector<std::string> function_names);
  void look();
  void ack(const std::string& fence_id);
  void stop();

  bool known() const { return known_; }
  const std::vector<FenceView>& standing() const { return views_; }
  // Of the fences that stand, the first around this function.
  const FenceView* around(const std::string& function_name) const;

 private:
  void heard(Result<std::vector<store::StandingFence>> answer);
  void send_acks();

  store::FenceStore store_;
  pg::Connection& connection_;
  const OnChange on_change_;
  uv::Timer timer_;
  std::optional<store::SupervisorRow> row_;  // while started
  bool asking_ = false;
  bool ask_again_ = false;  // something happened after the question was put
  bool known_ = false;
  bool told_refusal_ = false;
  std::vector<store::StandingFence> standing_;
  std::vector<FenceView> views_;
  std::set<std::string> obeyed_;  // fences that ack() was called for
};

// The function that the workers of a step register under: the variable WORKER_NAME as they get it,
// else "<flow>/<step>", or "<flow>" where the flow has one queue.
std::string worker_function_name(
    const std::string& flow_slug,
    const std::string& step_slug,
    const settings::WorkerProgram& program
);

}  // namespace pgflow::supervisor
