#include "worker/poller.hpp"

#include <algorithm>

#include "log/log.hpp"

namespace pgflow::worker {

PollPace::Milliseconds PollPace::after(int asked, int found) {
  if (found > 0) {
    next_ = busy_;
    // What was taken may come back with a delay of its own.
    next_visible_at_ = SteadyClock::time_point::min();
    return found == asked ? Milliseconds(0) : busy_;
  }
  const Milliseconds pause = next_;
  next_ = std::min(std::max(idle_, busy_), next_ + next_ / 4 + Milliseconds(1));
  return pause;
}

PollPace::Milliseconds PollPace::after_empty(
    int asked, std::optional<Milliseconds> next_visible_in, SteadyClock::time_point now
) {
  // Messages that become visible one after the other and that others are quicker to take must not
  // turn into a busy loop.
  constexpr Milliseconds kShortest{10};
  if (next_visible_in && *next_visible_in > Milliseconds(0)) {
    next_visible_at_ = now + *next_visible_in;
  }
  const Milliseconds pause = after(asked, 0);
  if (!knows_next(now)) return pause;
  const auto until = std::chrono::ceil<Milliseconds>(next_visible_at_ - now);
  return std::min(pause, std::max(until, kShortest));
}

PollPace::Milliseconds PollPace::wake(SteadyClock::time_point now) {
  constexpr Milliseconds kBetween{5};
  next_ = busy_;
  const auto due = woken_look_at_ + kBetween;
  if (now < due) return std::chrono::ceil<Milliseconds>(due - now);
  woken_look_at_ = now;
  return Milliseconds(0);
}

void StrayMessages::warn(const std::vector<store::UnclaimedMessage>& messages) {
  // Only a bound for a queue that somebody floods; then some are named twice.
  constexpr std::size_t kMostRemembered = 10'000;
  std::string unknown;
  std::string foreign;
  for (const store::UnclaimedMessage& message : messages) {
    const bool is_stray =
        message.why == store::Unclaimed::unknown || message.why == store::Unclaimed::foreign;
    if (!is_stray || !seen_.insert(message.msg_id).second) continue;
    std::string& ids = message.why == store::Unclaimed::unknown ? unknown : foreign;
    ids += (ids.empty() ? "" : ",") + std::to_string(message.msg_id.value());
  }
  if (seen_.size() > kMostRemembered) seen_.clear();
  warn(store::Unclaimed::unknown, unknown);
  warn(store::Unclaimed::foreign, foreign);
}

void StrayMessages::warn(store::Unclaimed why, std::string_view ids) {
  if (ids.empty()) return;
  log::warn(
      "queue.stray_messages",
      {{"queue", queue_name_},
       {"msg_ids", ids},
       {"why",
        why == store::Unclaimed::foreign ? "they belong to tasks of another flow or step"
                                         : "no task knows them"},
       {"hint", "They stay in the queue. Find out who sends them; pgmq.archive takes them out."}}
  );
}

}  // namespace pgflow::worker
