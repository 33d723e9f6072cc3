// Where a slot is, and what each event does to it, as one table.
#pragma once

#include <string_view>

#include "base/state_grid.hpp"

namespace pgflow::supervisor {

// What a slot *is*. What it is *wanted* to be (up or down) is a separate field of Slot.
enum class SlotState : unsigned char {
  down,      // no process, none coming
  backoff,   // no process; the next start waits for its time
  queued,    // no process; waits for permission to start
  starting,  // a process that is not ready yet
  ready,     // a process that polls
  draining,  // a process that was asked to finish
  killing,   // a process that we end, and that is not reaped yet
  failed,    // no process, and no restart can help
  count_
};

enum class SlotEvent : unsigned char {
  order_up,      // wanted up
  order_down,    // wanted down: finish the work in hand
  order_kill,    // wanted down, now
  order_leave,   // wanted up, by another worker: this one finishes
  give_up,       // the pool has failed: no further starts
  due,           // the back-off is over
  spawned,       // the process exists
  not_spawned,   // it could not be made
  ready,         // the worker said READY
  overdue,       // start deadline, watchdog, drain deadline, or a broken contract
  exited_again,  // reaped; the slot is to be filled again
  exited_down,   // reaped; the slot stays empty, by order
  exited_final,  // reaped; the reason is permanent
  count_
};

enum class SlotAction : unsigned char {
  none,
  ask_permission,  // join the queue of starts
  leave_queue,
  schedule_start,  // arm the back-off timer
  cancel_start,    // disarm it
  watch_start,     // arm the start deadline
  watch_health,    // READY: the start deadline ends, the watchdog begins
  ask_to_drain,    // send DRAIN and arm its deadline
  kill_process,    // SIGKILL; to a hung one SIGABRT before it
};

using SlotGrid = StateGrid<SlotState, SlotEvent, SlotAction>;

// clang-format off
inline constexpr SlotGrid kSlotGrid = [] {
  using S = SlotState;
  using A = SlotAction;
  constexpr auto bug = SlotGrid::bug(), stay = SlotGrid::stay();
  constexpr auto down    = SlotGrid::go(S::down),                          failed  = SlotGrid::go(S::failed);
  constexpr auto enqueue = SlotGrid::go(S::queued, A::ask_permission),     retry   = SlotGrid::go(S::backoff, A::schedule_start);
  constexpr auto leave   = SlotGrid::go(S::down, A::leave_queue),          quit    = SlotGrid::go(S::failed, A::leave_queue);
  constexpr auto cancel  = SlotGrid::go(S::down, A::cancel_start),         stop    = SlotGrid::go(S::failed, A::cancel_start);
  constexpr auto watch   = SlotGrid::go(S::starting, A::watch_start),      open    = SlotGrid::go(S::ready, A::watch_health);
  constexpr auto drain   = SlotGrid::go(S::draining, A::ask_to_drain),     kill    = SlotGrid::go(S::killing, A::kill_process);
  return SlotGrid{{{
    //            order_up  order_down  order_kill  order_leave  give_up  due      spawned  not_spawned  ready  overdue  exited_again  exited_down  exited_final
    /*down    */ {enqueue,  stay,       stay,       stay,        failed,  bug,     bug,     bug,         bug,   bug,     bug,          bug,         bug},
    /*backoff */ {stay,     cancel,     cancel,     stay,        stop,    enqueue, bug,     bug,         bug,   bug,     bug,          bug,         bug},
    /*queued  */ {stay,     leave,      leave,      stay,        quit,    bug,     watch,   retry,       bug,   bug,     bug,          bug,         bug},
    /*starting*/ {stay,     kill,       kill,       stay,        stay,    bug,     bug,     bug,         open,  kill,    retry,        bug,         failed},
    /*ready   */ {stay,     drain,      kill,       drain,       stay,    bug,     bug,     bug,         bug,   kill,    retry,        bug,         failed},
    /*draining*/ {stay,     drain,      kill,       stay,        stay,    bug,     bug,     bug,         stay,  kill,    retry,        down,        failed},
    /*killing */ {stay,     stay,       stay,       stay,        stay,    bug,     bug,     bug,         stay,  stay,    retry,        down,        failed},
    /*failed  */ {stay,     down,       down,       stay,        stay,    bug,     bug,     bug,         bug,   bug,     bug,          bug,         bug},
  }}};
}();
// clang-format on

constexpr bool has_process(SlotState state) {
  return state == SlotState::starting || state == SlotState::ready ||
         state == SlotState::draining || state == SlotState::killing;
}

std::string_view to_string(SlotState state);
std::string_view to_string(SlotEvent event);

// A process is left only by reaping it: no event but an exit leads from a state with a process to
// one without.
constexpr bool processes_are_reaped() {
  for (std::size_t s = 0; s < SlotGrid::kStates; ++s) {
    for (std::size_t e = 0; e < static_cast<std::size_t>(SlotEvent::exited_again); ++e) {
      const auto state = static_cast<SlotState>(s);
      const auto& cell = kSlotGrid.at(state, static_cast<SlotEvent>(e));
      if (cell.kind == CellKind::go && has_process(state) && !has_process(cell.next)) return false;
    }
  }
  return true;
}
static_assert(processes_are_reaped());

// A stop never finds a slot that refuses.
constexpr bool orders_are_accepted() {
  for (std::size_t s = 0; s < SlotGrid::kStates; ++s) {
    for (auto order : {SlotEvent::order_up, SlotEvent::order_down, SlotEvent::order_kill}) {
      if (kSlotGrid.at(static_cast<SlotState>(s), order).kind == CellKind::bug) return false;
    }
  }
  return true;
}
static_assert(orders_are_accepted());

// It is final: nothing but the exit ends `killing`.
static_assert(kSlotGrid.at(SlotState::killing, SlotEvent::order_up).kind == CellKind::stay);
static_assert(kSlotGrid.at(SlotState::killing, SlotEvent::overdue).kind == CellKind::stay);

// A failed pool stays failed until it is ordered down.
static_assert(kSlotGrid.at(SlotState::failed, SlotEvent::order_up).kind == CellKind::stay);

}  // namespace pgflow::supervisor
