// What operators want of the pools: checked, written down so that it outlives the supervisor, and
// only then told to the pools.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "settings/settings.hpp"
#include "supervisor/orders.hpp"
#include "supervisor/overrides.hpp"
#include "supervisor/pool.hpp"

namespace pgflow::supervisor {

class PoolOrders {
 public:
  using Pools = std::vector<std::unique_ptr<Pool>>;

  // `phase`: of the supervisor, which takes orders only while it runs. `on_change`: a pool wants
  // something else now.
  PoolOrders(
      const settings::Settings& settings,
      const Pools& pools,
      std::function<Phase()> phase,
      std::function<void()> on_change
  );
  PoolOrders(const PoolOrders&) = delete;
  PoolOrders& operator=(const PoolOrders&) = delete;

  // What an earlier supervisor was told.
  Result<void> load();
  void remind(Pool& pool) const;
  // Ends what was ordered for a time that is over.
  void end_overdue(WallClock::time_point now);

  // As in Orders.
  Result<void> scale(const PoolName& name, const ScaleOrder& order);
  Result<void> reset_scale(const PoolName& name);
  Result<void> pause(const PoolName& name, const PauseOrder& order);
  Result<void> resume(const PoolName& name);
  Result<void> restart(const PoolName& name);

 private:
  std::filesystem::path file() const { return settings_.supervisor.state_dir / "overrides.json"; }
  std::vector<Pool*> named(const PoolName& name) const;
  Result<void> change(
      const PoolName& name,
      const std::function<void(Override&)>& edit,
      std::optional<Milliseconds> pause_limit = {}
  );
  Result<void> fits(const Overrides& overrides) const;

  const settings::Settings& settings_;
  const Pools& pools_;
  const std::function<Phase()> phase_;
  const std::function<void()> on_change_;
  Overrides overrides_;
};

}  // namespace pgflow::supervisor
