// Names of the worker's states and events, for its log lines.
#include "worker/worker_state.hpp"

#include <array>

namespace pgflow::worker {

std::string_view name(State state) noexcept {
  constexpr std::array<std::string_view, static_cast<std::size_t>(State::count_)> kNames{
      "starting", "polling", "draining", "cancelling", "releasing", "closing", "stopped"
  };
  return kNames[static_cast<std::size_t>(state)];
}

std::string_view name(Event event) noexcept {
  constexpr std::array<std::string_view, static_cast<std::size_t>(Event::count_)> kNames{
      "ready", "drain", "again", "stuck", "disowned", "refused", "time_up", "idle", "closed"
  };
  return kNames[static_cast<std::size_t>(event)];
}

}  // namespace pgflow::worker
