#include "supervisor/control/health.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pgflow::supervisor {
namespace {

using namespace std::chrono_literals;

constexpr auto kDatabaseMayBeAway = 10s;

bool is_ready(const SlotView& slot) {
  return slot.state == SlotState::ready;
}

Check expect(std::string name, bool ok, std::string why) {
  return {std::move(name), ok, ok ? std::string() : std::move(why)};
}

std::string name_of(const PoolView& pool) {
  return pool.step_slug.empty() ? "pool " + pool.flow_slug
                                : fmt::format("pool {}/{}", pool.flow_slug, pool.step_slug);
}

// A pool that nobody wants to work is no reason to send nobody here.
bool is_excused(const PoolView& pool) {
  return pool.state == PoolState::fenced || pool.state == PoolState::paused ||
         pool.state == PoolState::zero;
}

Check check_pool(const PoolView& pool) {
  if (is_excused(pool)) return {name_of(pool), true, std::string(to_string(pool.state))};
  if (pool.state == PoolState::failed) return {name_of(pool), false, pool.reason};
  if (std::ranges::any_of(pool.slots, is_ready)) return {name_of(pool), true};
  return {name_of(pool), false, "no worker is ready"};
}

}  // namespace

std::vector<Check> startup_checks(const Snapshot& snapshot) {
  return {
      expect("running", snapshot.phase != Phase::starting, "the supervisor is starting"),
      expect("pools", snapshot.was_ready, "not every pool was ready yet"),
  };
}

std::vector<Check> readiness_checks(const Snapshot& snapshot) {
  // A restart of the server is no reason to take this host out.
  const bool database =
      snapshot.database_up || (snapshot.phase == Phase::running && snapshot.database_for > 0s &&
                               snapshot.database_for < kDatabaseMayBeAway);
  std::vector<Check> checks{
      expect(
          "running",
          snapshot.phase == Phase::running,
          fmt::format("the supervisor is {}", to_string(snapshot.phase))
      ),
      expect(
          "database",
          database,
          snapshot.database_error.empty() ? "not connected" : snapshot.database_error
      ),
  };
  for (const PoolView& pool : snapshot.pools) checks.push_back(check_pool(pool));
  const bool all_fenced =
      !snapshot.pools.empty() && std::ranges::all_of(snapshot.pools, [](const PoolView& pool) {
        return pool.state == PoolState::fenced;
      });
  if (all_fenced) checks.push_back({"fences", false, "every pool is fenced"});
  return checks;
}

bool all_ok(const std::vector<Check>& checks) {
  return std::ranges::all_of(checks, &Check::ok);
}

std::string verbose_text(const std::vector<Check>& checks, std::string_view probe) {
  std::string text;
  for (const Check& check : checks) {
    if (!check.ok) {
      text += fmt::format("[-]{} failed: {}\n", check.name, check.why);
    } else {
      text += fmt::format("[+]{} ok{}{}\n", check.name, check.why.empty() ? "" : ": ", check.why);
    }
  }
  return text + fmt::format("{} check {}\n", probe, all_ok(checks) ? "passed" : "failed");
}

}  // namespace pgflow::supervisor
