// When to look into the queue again, and what to say about messages that are nobody's task.
#pragma once

#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "store/task_store.hpp"

namespace pgflow::worker {

// At once while the queue gives all that was asked for, soon while it was busy a moment ago, then
// less and less often: an idle worker must cost next to nothing. Sooner, when a delayed message is
// known to become visible before.
class PollPace {
 public:
  using Milliseconds = std::chrono::milliseconds;
  PollPace(Milliseconds busy, Milliseconds idle) : busy_(busy), idle_(idle), next_(busy) {}

  // The pause after a look that asked for `asked` tasks and found `found`.
  Milliseconds after(int asked, int found);

  // The same after an empty look at `now` that was also told when the next message becomes visible.
  // That is worth asking only while it is not known: a queue full of delayed messages is read as a
  // whole for it.
  Milliseconds after_empty(
      int asked, std::optional<Milliseconds> next_visible_in, SteadyClock::time_point now
  );
  bool knows_next(SteadyClock::time_point now) const { return next_visible_at_ > now; }

  // Somebody says that there is work: the pause before the look for it. None, unless such a look
  // was a moment ago: a thousand starts a second are not a thousand looks.
  Milliseconds wake(SteadyClock::time_point now);

 private:
  Milliseconds busy_;
  Milliseconds idle_;
  Milliseconds next_;
  SteadyClock::time_point woken_look_at_{};
  SteadyClock::time_point next_visible_at_ = SteadyClock::time_point::min();
};

// Messages that were read and are no task for us: foreign ones, or without any task. They stay in
// the queue and come back after every visibility timeout, so each is named once.
class StrayMessages {
 public:
  explicit StrayMessages(std::string queue_name) : queue_name_(std::move(queue_name)) {}

  // One line for the new ones of each kind.
  void warn(const std::vector<store::UnclaimedMessage>& messages);

 private:
  void warn(store::Unclaimed why, std::string_view ids);

  std::string queue_name_;
  std::set<MessageId> seen_;
};

}  // namespace pgflow::worker
