#include "worker/poller.hpp"

#include <algorithm>

#include "log/log.hpp"

namespace pgflow::worker {

PollPace::Milliseconds PollPace::after(int asked, int found) {
  if (found > 0) {
    next_ = busy_;
    return found == asked ? Milliseconds(0) : busy_;
  }
  const Milliseconds pause = next_;
  next_ = std::min(std::max(idle_, busy_), next_ + next_ / 4 + Milliseconds(1));
  return pause;
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
