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

void StrayMessages::add(MessageId id, const std::string& outcome) {
  // Only a bound for a queue that somebody floods; then some are named twice.
  constexpr std::size_t kMostRemembered = 10'000;
  if (seen_.size() >= kMostRemembered) seen_.clear();
  if (!seen_.insert(id).second) return;
  std::string& ids = fresh_[outcome];
  ids += (ids.empty() ? "" : ",") + std::to_string(id.value());
}

void StrayMessages::warn() {
  for (const auto& [outcome, ids] : fresh_) {
    log::warn(
        "queue.stray_messages",
        {{"queue", queue_name_},
         {"msg_ids", ids},
         {"why",
          outcome == "foreign" ? "they belong to tasks of another flow or step"
                               : "no task knows them"},
         {"hint",
          "They were left in the queue. Find out who sends them, then archive them with "
          "pgmq.archive."}}
    );
  }
  fresh_.clear();
}

}  // namespace pgflow::worker
