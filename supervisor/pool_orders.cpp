#include "supervisor/pool_orders.hpp"

#include "base/did_you_mean.hpp"
#include "log/log.hpp"
#include "settings/load.hpp"

namespace pgflow::supervisor {

PoolOrders::PoolOrders(
    const settings::Settings& settings,
    const Pools& pools,
    std::function<Phase()> phase,
    std::function<void()> on_change
)
    : settings_(settings),
      pools_(pools),
      phase_(std::move(phase)),
      on_change_(std::move(on_change)) {}

Result<void> PoolOrders::load() {
  return load_overrides(file()).map([this](Overrides loaded) { overrides_ = std::move(loaded); });
}

void PoolOrders::remind(Pool& pool) const {
  const auto override = overrides_.find(pool.name());
  if (override == overrides_.end()) return;
  pool.apply(override->second);
  log::info("pool.overridden", {{"pool", pool.name()}});
}

void PoolOrders::end_overdue(WallClock::time_point now) {
  for (const auto& pool : pools_) {
    if (!pool->override().until || *pool->override().until > now) continue;
    log::info("override.ended", {{"pool", pool->name()}});
    const auto ended = reset_scale({pool->flow().slug, pool->step().slug});
    if (!ended) log::warn("override.not_ended", ended.error(), {{"pool", pool->name()}});
  }
}

std::vector<Pool*> PoolOrders::named(const PoolName& name) const {
  std::vector<Pool*> found;
  for (const auto& pool : pools_) {
    const bool is_step = name.step_slug.empty() || name.step_slug == pool->step().slug;
    if (pool->flow().slug == name.flow_slug && is_step) found.push_back(pool.get());
  }
  return found;
}

// On disk first: an order that is answered is not lost.
Result<void> PoolOrders::change(
    const PoolName& name,
    const std::function<void(Override&)>& edit,
    std::optional<Milliseconds> pause_limit
) {
  const auto found = named(name);
  if (found.empty()) {
    std::vector<std::string> known;
    for (const auto& pool : pools_) known.push_back(pool->name());
    const std::string asked =
        name.step_slug.empty() ? name.flow_slug : name.flow_slug + "/" + name.step_slug;
    return fail(
        {.kind = "pool_unknown",
         .message = "This supervisor has no pool \"" + asked + "\".",
         .hint = did_you_mean_hint(asked, known)}
    );
  }
  if (phase_() != Phase::running) {
    return fail(
        {.kind = "order_refused",
         .message = "The supervisor is " + std::string(to_string(phase_())) + ".",
         .hint = "It takes orders while it runs."}
    );
  }
  Overrides wanted = overrides_;
  for (const Pool* pool : found) {
    Override& override = wanted[pool->name()];
    edit(override);
    if (!override.processes && !override.max_concurrent) override.until.reset();
    if (override.is_empty()) wanted.erase(pool->name());
  }
  if (auto fitting = fits(wanted); !fitting) return fitting;
  if (wanted != overrides_) {
    if (auto saved = save_overrides(file(), wanted); !saved) return saved;
  }
  overrides_ = std::move(wanted);
  for (Pool* pool : found) {
    const auto override = overrides_.find(pool->name());
    pool->apply(override == overrides_.end() ? Override() : override->second, pause_limit);
  }
  on_change_();
  return {};
}

Result<void> PoolOrders::fits(const Overrides& overrides) const {
  int processes = 0;
  for (const auto& pool : pools_) {
    const auto override = overrides.find(pool->name());
    const bool is_scaled = override != overrides.end() && override->second.processes;
    processes += is_scaled ? *override->second.processes : pool->step().processes;
  }
  const int needed = settings::connections_for(processes);
  if (needed <= settings_.database.max_connections) return {};
  return fail(
      {.kind = "order_refused",
       .message = std::to_string(processes) + " processes need " + std::to_string(needed) +
                  " connections, more than max_connections allows (" +
                  std::to_string(settings_.database.max_connections) + ").",
       .hint = "Raise database.max_connections in the config file if the server allows that many, "
               "and restart the supervisor."}
  );
}

Result<void> PoolOrders::scale(const PoolName& name, const ScaleOrder& order) {
  return change(name, [&](Override& override) {
    if (order.processes) override.processes = order.processes;
    if (order.max_concurrent) override.max_concurrent = order.max_concurrent;
    override.until.reset();
    if (order.ttl) override.until = WallClock::now() + *order.ttl;
  });
}

Result<void> PoolOrders::reset_scale(const PoolName& name) {
  return change(name, [](Override& override) {
    override.processes.reset();
    override.max_concurrent.reset();
  });
}

Result<void> PoolOrders::pause(const PoolName& name, const PauseOrder& order) {
  return change(name, [&](Override& override) { override.paused = order.reason; }, order.deadline);
}

Result<void> PoolOrders::resume(const PoolName& name) {
  return change(name, [](Override& override) { override.paused.reset(); });
}

Result<void> PoolOrders::restart(const PoolName& name) {
  if (auto known = change(name, [](Override&) {}); !known) return known;
  for (Pool* pool : named(name)) pool->restart();
  return {};
}

}  // namespace pgflow::supervisor
