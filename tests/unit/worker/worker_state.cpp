// worker/worker_state: what the grid promises, beyond its static_asserts.
#include "worker/worker_state.hpp"

#include "support/catch.hpp"
#include "support/state_table.hpp"

using namespace pgflow;
using worker::Action;
using worker::Event;
using worker::kWorkerGrid;
using worker::State;

namespace {
// Where a chain of events leads; bug cells fail the test.
State after(State state, std::initializer_list<Event> events) {
  for (const Event event : events) {
    const auto& cell = kWorkerGrid.at(state, event);
    INFO(name(state) << " " << name(event));
    REQUIRE(cell.kind != CellKind::bug);
    if (cell.kind == CellKind::go) state = cell.next;
  }
  return state;
}
}  // namespace

TEST_CASE("only polling claims", "[worker][state]") {
  for (int s = 0; s < static_cast<int>(State::count_); ++s) {
    for (int e = 0; e < static_cast<int>(Event::count_); ++e) {
      const auto& cell = kWorkerGrid.at(static_cast<State>(s), static_cast<Event>(e));
      if (cell.action == Action::poll) CHECK(cell.next == State::polling);
    }
  }
}

TEST_CASE("a stop during the start ends it at once", "[worker][state]") {
  CHECK(after(State::starting, {Event::drain}) == State::stopped);
}

TEST_CASE("a drain waits for what is in hand, then tells the database", "[worker][state]") {
  CHECK(after(State::polling, {Event::drain}) == State::draining);
  CHECK(after(State::polling, {Event::drain, Event::drain, Event::idle}) == State::closing);
  CHECK(after(State::polling, {Event::drain, Event::idle, Event::closed}) == State::stopped);
}

TEST_CASE("a drain past its deadline cancels, then gives back", "[worker][state]") {
  CHECK(after(State::polling, {Event::drain, Event::time_up}) == State::cancelling);
  CHECK(after(State::polling, {Event::drain, Event::time_up, Event::time_up}) == State::releasing);
}

TEST_CASE("a second stop by hand skips the wait for handlers", "[worker][state]") {
  CHECK(after(State::draining, {Event::again}) == State::releasing);
  CHECK(after(State::cancelling, {Event::again}) == State::releasing);
}

TEST_CASE("a worker with nothing but stuck handlers waits for them no longer", "[worker][state]") {
  CHECK(after(State::draining, {Event::stuck}) == State::releasing);
  CHECK(after(State::cancelling, {Event::stuck}) == State::releasing);
  CHECK(after(State::polling, {Event::drain, Event::stuck, Event::idle}) == State::closing);
}

TEST_CASE("a disowned worker cancels what it runs", "[worker][state]") {
  CHECK(after(State::polling, {Event::disowned}) == State::cancelling);
  CHECK(after(State::draining, {Event::disowned}) == State::cancelling);
  CHECK(after(State::closing, {Event::disowned}) == State::closing);
}

TEST_CASE("docs/supervisor.md shows the worker's table as it is", "[worker]") {
  const std::string table =
      pgflow::test::markdown(kWorkerGrid, [](auto named) { return name(named); });
  INFO(table);
  CHECK(pgflow::test::stands_in_docs(table, "supervisor.md"));
}
