#include "supervisor/control/event_feed.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pgflow::supervisor {
namespace {

constexpr std::size_t kRemembered = 256;

struct PhaseEvent {
  std::string phase;
};
struct ReleasesEvent {
  int pending = 0;
};
struct PoolEvent {
  std::string flow;
  std::optional<std::string> step;
  std::string state;
  std::optional<std::string> reason;
  int processes = 0;
  int max_concurrent = 0;
};
struct SlotEventData {
  std::string flow;
  std::optional<std::string> step;
  int slot = 0;
  std::string state;
  std::optional<std::string> worker_id;
  std::optional<int> pid;
};

std::string text_of(const EventDocument& event) {
  return fmt::format("id: {}\nevent: {}\ndata: {}\n\n", event.id, event.event, event.data.text);
}

const PoolView* find(const Snapshot& snapshot, const PoolView& pool) {
  const auto found = std::ranges::find_if(snapshot.pools, [&](const PoolView& other) {
    return other.flow_slug == pool.flow_slug && other.step_slug == pool.step_slug;
  });
  return found == snapshot.pools.end() ? nullptr : &*found;
}

const SlotView* find(const PoolView* pool, int number) {
  if (pool == nullptr) return nullptr;
  const auto found = std::ranges::find(pool->slots, number, &SlotView::number);
  return found == pool->slots.end() ? nullptr : &*found;
}

bool same(const ExitView& a, const ExitView& b) {
  return a.worker_id == b.worker_id && a.time == b.time;
}

}  // namespace

void EventFeed::show(Snapshot now) {
  if (now.phase != shown_.phase || last_id_ == 0) {
    tell("phase", to_json(PhaseEvent{std::string(to_string(now.phase))}));
  }
  if (now.database_up != shown_.database_up) tell("database", to_json(document_of(now).database));
  if (now.pending_releases != shown_.pending_releases) {
    tell("releases", to_json(ReleasesEvent{now.pending_releases}));
  }
  // The oldest first: an exit comes before the start that follows it.
  for (auto exit = now.exits.rbegin(); exit != now.exits.rend(); ++exit) {
    const bool known = std::ranges::any_of(shown_.exits, [&](const ExitView& other) {
      return same(other, *exit);
    });
    if (known) continue;
    ExitView heard = *exit;
    heard.last_output.clear();  // events go to everybody
    tell("exit", to_json(document_of(heard)));
  }
  for (const PoolView& pool : now.pools) {
    const PoolView* before = find(shown_, pool);
    const PoolDocument document = document_of(pool);
    if (before == nullptr || before->state != pool.state || before->processes != pool.processes ||
        before->max_concurrent != pool.max_concurrent) {
      tell(
          "pool",
          to_json(PoolEvent{
              document.flow,
              document.step,
              document.state,
              document.reason,
              document.processes,
              document.max_concurrent
          })
      );
    }
    for (const SlotDocument& slot : document.slots) {
      const SlotView* old = find(before, slot.slot);
      if (old != nullptr && to_string(old->state) == slot.state &&
          old->worker_id == slot.worker_id.value_or("")) {
        continue;
      }
      tell(
          "slot",
          to_json(SlotEventData{
              document.flow, document.step, slot.slot, slot.state, slot.worker_id, slot.pid
          })
      );
    }
  }
  shown_ = std::move(now);
}

std::string EventFeed::text_after(std::int64_t id) const {
  std::string text;
  for (const EventDocument& event : events_) {
    if (event.id > id) text += text_of(event);
  }
  return text;
}

EventsDocument EventFeed::remembered() const {
  return {{events_.begin(), events_.end()}};
}

void EventFeed::follow(std::shared_ptr<HttpStream> stream) {
  followers_.push_back(std::move(stream));
}

void EventFeed::keep_alive() {
  write(": still here\n\n");
}

void EventFeed::tell(std::string_view event, std::string data) {
  events_.push_back(
      {++last_id_, rfc3339(WallClock::now()), std::string(event), Json{std::move(data)}}
  );
  if (events_.size() > kRemembered) events_.pop_front();
  write(text_of(events_.back()));
}

void EventFeed::write(std::string_view text) {
  std::erase_if(followers_, [](const auto& stream) { return stream->gone(); });
  for (const auto& stream : followers_) stream->write(text);
}

}  // namespace pgflow::supervisor
