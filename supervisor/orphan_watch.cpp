#include "supervisor/orphan_watch.hpp"

#include <system_error>

#include "log/log.hpp"
#include "supervisor/process_tree.hpp"

namespace pgflow::supervisor {
namespace {

constexpr std::chrono::milliseconds kInterval{200};

}  // namespace

OrphanWatch::OrphanWatch(
    uv::Loop& loop, std::chrono::milliseconds limit, std::function<void(WorkerId)> dead
)
    : limit_(limit), dead_(std::move(dead)), timer_(loop, [this] { look(); }) {}

void OrphanWatch::start(const std::filesystem::path& state_dir) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(state_dir / "slots", ignored)) {
    if (const auto owner = read_slot_owner(entry.path())) {
      orphans_.push_back({entry.path(), *owner});
    }
  }
  deadline_ = SteadyClock::now() + limit_;
  look();
  if (!orphans_.empty()) {
    log::info("orphans.waiting", {{"workers", orphans_.size()}, {"limit_ms", limit_}});
  }
}

void OrphanWatch::look() {
  std::erase_if(orphans_, [this](const Orphan& orphan) { return is_gone(orphan); });
  if (orphans_.empty()) return;
  if (SteadyClock::now() >= deadline_) {
    for (const Orphan& orphan : orphans_) {
      log::warn(
          "orphan.killed", {{"worker_id", orphan.owner.worker_id}, {"pid", orphan.owner.pid}}
      );
      if (orphan.owner.pid != 0) kill_exactly(orphan.owner.pid, orphan.owner.start_time);
    }
  }
  timer_.start(kInterval);
}

// A free lock is the proof: the kernel gives it back exactly when the last holder is dead.
bool OrphanWatch::is_gone(const Orphan& orphan) {
  const auto now = read_slot_owner(orphan.lock);
  if (!now || now->worker_id != orphan.owner.worker_id) return true;  // its slot was quicker
  const auto lock = try_slot_lock(orphan.lock);
  if (!lock || !*lock) return false;
  // What it left running is found by its id; its session's number may be somebody else's by now.
  const Remains remains[] = {{.worker_id = orphan.owner.worker_id}};
  kill_leftovers(remains);
  dead_(orphan.owner.worker_id);
  clear_slot_owner(orphan.lock);
  return true;
}

}  // namespace pgflow::supervisor
