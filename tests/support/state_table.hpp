// A state machine as the table that documents show, and where a document shows it.
#pragma once

#include <string>

#include "base/state_grid.hpp"
#include "support/process.hpp"

namespace pgflow::test {

// One row for each event that leads somewhere, one column for each state: where it leads. Nothing:
// it changes no state. `text` names a state or an event.
template <class State, class Event, class Action, class Text>
std::string markdown(const StateGrid<State, Event, Action>& grid, Text text) {
  using Grid = StateGrid<State, Event, Action>;
  std::string head = "| |", line = "|---|", rows;
  for (std::size_t s = 0; s < Grid::kStates; ++s) {
    head += " " + std::string(text(static_cast<State>(s))) + " |";
    line += "---|";
  }
  for (std::size_t e = 0; e < Grid::kEvents; ++e) {
    const auto event = static_cast<Event>(e);
    rows += "| " + std::string(text(event)) + " |";
    for (std::size_t s = 0; s < Grid::kStates; ++s) {
      const auto& cell = grid.at(static_cast<State>(s), event);
      const bool leads = cell.kind == CellKind::go && cell.next != static_cast<State>(s);
      rows += leads ? " " + std::string(text(cell.next)) + " |" : " |";
    }
    rows += "\n";
  }
  return head + "\n" + line + "\n" + rows;
}

inline bool stands_in_docs(const std::string& table, const std::string& document) {
  return read_file(std::string(PGFLOW_SOURCE_DIR) + "/docs/" + document).find(table) !=
         std::string::npos;
}

}  // namespace pgflow::test
