// A state machine as a table: [state][event] -> {next, action}, every cell decided at compile time.
#pragma once

#include <array>
#include <cstddef>

namespace pgflow {

enum class CellKind { undecided, go, stay, bug };

// What one event does in one state. `stay` runs its action without a transition, `bug` must never
// be reached.
template <class State, class Action>
struct Cell {
  CellKind kind = CellKind::undecided;
  State next{};
  Action action{};
};

// The enumerations end in `count_`. Rows are states, columns events, both in the order of their
// enumerators:
//
//   constexpr StateGrid<State, Event, Action> kGrid{{{
//       //             start                   stop
//       /* down */ {{ go(up, Action::spawn),   stay()                  }},
//       /* up   */ {{ bug(),                   go(down, Action::kill)  }},
//   }}};
template <class State, class Event, class Action>
struct StateGrid {
  static constexpr std::size_t kStates = static_cast<std::size_t>(State::count_);
  static constexpr std::size_t kEvents = static_cast<std::size_t>(Event::count_);
  using CellType = Cell<State, Action>;

  std::array<std::array<CellType, kEvents>, kStates> cells;

  static constexpr CellType go(State next, Action action = {}) {
    return {CellKind::go, next, action};
  }
  static constexpr CellType stay(Action action = {}) { return {CellKind::stay, State{}, action}; }
  static constexpr CellType bug() { return {CellKind::bug, State{}, Action{}}; }

  constexpr const CellType& at(State state, Event event) const {
    return cells[static_cast<std::size_t>(state)][static_cast<std::size_t>(event)];
  }

  // For static_asserts: no cell was forgotten.
  constexpr bool is_complete() const {
    for (const auto& row : cells) {
      for (const CellType& cell : row) {
        if (cell.kind == CellKind::undecided) return false;
      }
    }
    return true;
  }

  // For static_asserts: no event leads out of `state`.
  constexpr bool is_final(State state) const {
    for (const CellType& cell : cells[static_cast<std::size_t>(state)]) {
      if (cell.kind == CellKind::go && cell.next != state) return false;
    }
    return true;
  }

  // For static_asserts: some chain of events leads from `from` to `to`.
  constexpr bool reaches(State from, State to) const {
    std::array<bool, kStates> seen{};
    seen[static_cast<std::size_t>(from)] = true;
    for (std::size_t round = 0; round < kStates; ++round) {
      for (std::size_t s = 0; s < kStates; ++s) {
        if (!seen[s]) continue;
        for (const CellType& cell : cells[s]) {
          if (cell.kind == CellKind::go) seen[static_cast<std::size_t>(cell.next)] = true;
        }
      }
    }
    return seen[static_cast<std::size_t>(to)];
  }
};

}  // namespace pgflow
