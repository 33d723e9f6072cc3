#include "supervisor/slot_state.hpp"

#include <array>

namespace pgflow::supervisor {

std::string_view to_string(SlotState state) {
  static constexpr std::array<std::string_view, SlotGrid::kStates> kNames{
      "down", "backoff", "queued", "starting", "ready", "draining", "killing", "failed"
  };
  return kNames[static_cast<std::size_t>(state)];
}

std::string_view to_string(SlotEvent event) {
  static constexpr std::array<std::string_view, SlotGrid::kEvents> kNames{
      "order_up",
      "order_down",
      "order_kill",
      "order_leave",
      "give_up",
      "due",
      "spawned",
      "not_spawned",
      "ready",
      "overdue",
      "exited_again",
      "exited_down",
      "exited_final"
  };
  return kNames[static_cast<std::size_t>(event)];
}

}  // namespace pgflow::supervisor
