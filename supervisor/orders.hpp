// What an operator may order of a running supervisor. An order changes what is wanted, at once; the
// snapshot tells when it has come true.
#pragma once

#include <optional>
#include <string>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "settings/settings.hpp"
#include "supervisor/snapshot.hpp"

namespace pgflow::supervisor {

using settings::Milliseconds;

// One step's pool; without a step all pools of the flow.
struct PoolName {
  std::string flow_slug;
  std::string step_slug;
};

// What is given changes, the rest stays.
struct ScaleOrder {
  std::optional<int> processes{};       // from 0 to 1000
  std::optional<int> max_concurrent{};  // from 1 to 10000
  std::optional<Milliseconds> ttl{};    // back to the config file's values after this time
};

// Workers finish what they hold and leave, and none is started, until it is resumed.
struct PauseOrder {
  std::string reason;
  std::optional<Milliseconds> deadline{};  // after it tasks are given back; none: the longest step
                                           // time-out is enough
};

// All on the supervisor's own thread. Errors: kind "pool_unknown", "worker_unknown",
// "order_refused" (the message says why, the hint what would be right); nothing is changed then.
class Orders {
 public:
  virtual ~Orders() = default;
  virtual Snapshot snapshot() const = 0;
  virtual Result<void> scale(const PoolName& pool, const ScaleOrder& order) = 0;
  // Back to the config file's values.
  virtual Result<void> reset_scale(const PoolName& pool) = 0;
  virtual Result<void> pause(const PoolName& pool, const PauseOrder& order) = 0;
  virtual Result<void> resume(const PoolName& pool) = 0;
  // Replaces every worker, one after the other: the new one is ready before the old one leaves.
  virtual Result<void> restart(const PoolName& pool) = 0;
  // One worker finishes and is replaced; or is killed, its tasks given back, and is replaced.
  virtual Result<void> drain_worker(const std::string& worker_id) = 0;
  virtual Result<void> kill_worker(const std::string& worker_id) = 0;
  // As the signal TERM; a deadline wins over the config's.
  virtual Result<void> stop(std::optional<Milliseconds> deadline) = 0;
};

}  // namespace pgflow::supervisor
