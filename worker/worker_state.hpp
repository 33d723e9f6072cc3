// The life of a worker as a table: what each event does in each state.
#pragma once

#include <string_view>

#include "base/state_grid.hpp"

namespace pgflow::worker {

enum class State {
  starting,    // connecting, verifying, registering: nothing is claimed
  polling,     // claiming and running
  draining,    // no new claims; handlers finish
  cancelling,  // the stop tokens have fired; handlers have a last grace
  releasing,   // what still runs is given back; the last results are being settled
  closing,     // nothing in hand; the database is told that we stop
  stopped,
  count_
};

enum class Event {
  ready,     // verified and registered
  drain,     // asked to stop: by a signal, the supervisor, its loss, or a deprecation
  again,     // asked a second time, by hand: stop now
  stuck,     // only handlers that ignore their deadline still run, and nothing waits to be settled
  disowned,  // the database does not count us as a worker any more
  refused,   // nothing can come of this worker: the error says why
  time_up,   // the state's time limit has passed
  idle,      // nothing in hand and nothing left to settle
  closed,    // the database knows that we stop
  count_
};

enum class Action {
  none,
  poll,     // start claiming
  finish,   // wait for the handlers until the earliest deadline that was given
  cancel,   // fire every stop token, arm the grace
  release,  // give back what still runs, arm the last limit
  close,    // mark the worker stopped, arm the last limit
  leave,    // end the loop
};

// clang-format off
inline constexpr auto kWorkerGrid = [] {
  using Grid = StateGrid<State, Event, Action>;
  using enum State;
  using enum Action;
  constexpr auto go = Grid::go;
  constexpr auto stay = [](Action action = none) { return Grid::stay(action); };
  constexpr auto bug = Grid::bug;
  return Grid{{{
    //                ready              drain                      again                   stuck                   disowned                refused             time_up                 idle                closed
    /* starting   */ {{ go(polling, poll), go(stopped, leave),        bug(),                  bug(),                  bug(),                  go(stopped, leave), bug(),                  stay(),             bug()              }},
    /* polling    */ {{ bug(),             go(draining, finish),      bug(),                  stay(),                 go(cancelling, cancel), bug(),              bug(),                  stay(),             bug()              }},
    /* draining   */ {{ bug(),             stay(finish),              go(releasing, release), go(releasing, release), go(cancelling, cancel), bug(),              go(cancelling, cancel), go(closing, close), bug()              }},
    /* cancelling */ {{ bug(),             stay(),                    go(releasing, release), go(releasing, release), stay(),                 bug(),              go(releasing, release), go(closing, close), bug()              }},
    /* releasing  */ {{ bug(),             stay(),                    stay(),                 stay(),                 stay(),                 bug(),              go(stopped, leave),     go(closing, close), bug()              }},
    /* closing    */ {{ bug(),             stay(),                    stay(),                 stay(),                 stay(),                 bug(),              go(stopped, leave),     stay(),             go(stopped, leave) }},
    /* stopped    */ {{ stay(),            stay(),                    stay(),                 stay(),                 stay(),                 stay(),             stay(),                 stay(),             stay()             }},
  }}};
}();
// clang-format on

static_assert(kWorkerGrid.is_final(State::stopped));
static_assert(kWorkerGrid.reaches(State::starting, State::closing));
// A worker never goes back: once it drains, nothing makes it claim again.
static_assert(!kWorkerGrid.reaches(State::draining, State::polling));
static_assert(!kWorkerGrid.reaches(State::cancelling, State::draining));
// Told to stop, it can always end by time alone, whatever the handlers and the database do.
static_assert(kWorkerGrid.at(State::draining, Event::time_up).next == State::cancelling);
static_assert(kWorkerGrid.at(State::cancelling, Event::time_up).next == State::releasing);
static_assert(kWorkerGrid.at(State::releasing, Event::time_up).next == State::stopped);
static_assert(kWorkerGrid.at(State::closing, Event::time_up).next == State::stopped);

std::string_view name(State state) noexcept;
std::string_view name(Event event) noexcept;

}  // namespace pgflow::worker
