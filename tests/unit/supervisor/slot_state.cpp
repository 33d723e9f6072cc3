#include "supervisor/slot_state.hpp"

#include "support/catch.hpp"
#include "support/state_table.hpp"

using namespace pgflow;
using namespace pgflow::supervisor;

namespace {

struct Expected {
  SlotState from;
  SlotEvent event;
  SlotState to;
  SlotAction action;
};

}  // namespace

TEST_CASE("a worker that is not ready has nothing to finish and is killed", "[supervisor][slot]") {
  const auto& cell = kSlotGrid.at(SlotState::starting, SlotEvent::order_down);
  CHECK(cell.next == SlotState::killing);
  CHECK(cell.action == SlotAction::kill_process);
}

TEST_CASE("a slot walks from down to ready and back through its drain", "[supervisor][slot]") {
  const Expected walk[] = {
      {SlotState::down, SlotEvent::order_up, SlotState::queued, SlotAction::ask_permission},
      {SlotState::queued, SlotEvent::spawned, SlotState::starting, SlotAction::watch_start},
      {SlotState::starting, SlotEvent::ready, SlotState::ready, SlotAction::watch_health},
      {SlotState::ready, SlotEvent::order_down, SlotState::draining, SlotAction::ask_to_drain},
      {SlotState::draining, SlotEvent::exited_down, SlotState::down, SlotAction::none},
  };
  for (const auto& step : walk) {
    const auto& cell = kSlotGrid.at(step.from, step.event);
    CAPTURE(to_string(step.from), to_string(step.event));
    CHECK(cell.kind == CellKind::go);
    CHECK(cell.next == step.to);
    CHECK(cell.action == step.action);
  }
}

TEST_CASE("a draining slot that outlives its grace is killed", "[supervisor][slot]") {
  const auto& cell = kSlotGrid.at(SlotState::draining, SlotEvent::overdue);
  CHECK(cell.next == SlotState::killing);
  CHECK(cell.action == SlotAction::kill_process);
}

TEST_CASE(
    "a repeated order to go down only tells the worker of its deadline", "[supervisor][slot]"
) {
  const auto& again = kSlotGrid.at(SlotState::draining, SlotEvent::order_down);
  CHECK(again.next == SlotState::draining);
  CHECK(again.action == SlotAction::ask_to_drain);
  CHECK(kSlotGrid.at(SlotState::killing, SlotEvent::order_down).kind == CellKind::stay);
  CHECK(kSlotGrid.at(SlotState::down, SlotEvent::order_down).kind == CellKind::stay);
}

TEST_CASE("a failed pool stops what waits and leaves what works", "[supervisor][slot]") {
  CHECK(kSlotGrid.at(SlotState::backoff, SlotEvent::give_up).next == SlotState::failed);
  CHECK(kSlotGrid.at(SlotState::queued, SlotEvent::give_up).next == SlotState::failed);
  CHECK(kSlotGrid.at(SlotState::ready, SlotEvent::give_up).kind == CellKind::stay);
  CHECK(kSlotGrid.at(SlotState::starting, SlotEvent::give_up).kind == CellKind::stay);
}

TEST_CASE("every state can be left for down and every state has a name", "[supervisor][slot]") {
  for (std::size_t s = 0; s < SlotGrid::kStates; ++s) {
    const auto state = static_cast<SlotState>(s);
    CAPTURE(to_string(state));
    CHECK(kSlotGrid.reaches(state, SlotState::down));
    CHECK_FALSE(to_string(state).empty());
  }
  for (std::size_t e = 0; e < SlotGrid::kEvents; ++e) {
    CHECK_FALSE(to_string(static_cast<SlotEvent>(e)).empty());
  }
}

TEST_CASE("docs/supervisor.md shows the slot's table as it is", "[supervisor][slot]") {
  const std::string table = test::markdown(kSlotGrid, [](auto named) { return to_string(named); });
  INFO(table);
  CHECK(test::stands_in_docs(table, "supervisor.md"));
}
