// The workers of an earlier supervisor that died: waits for them to leave, ends those that do not,
// and has their tasks given back.
#pragma once

#include <filesystem>
#include <functional>
#include <vector>

#include "base/clock.hpp"
#include "supervisor/instance_lock.hpp"
#include "uv/timer.hpp"

namespace pgflow::supervisor {

class OrphanWatch {
 public:
  // `limit`: how long an orphan may finish its work. `dead` is told once for each that is gone.
  OrphanWatch(uv::Loop& loop, std::chrono::milliseconds limit, std::function<void(WorkerId)> dead);
  OrphanWatch(const OrphanWatch&) = delete;
  OrphanWatch& operator=(const OrphanWatch&) = delete;

  // Looks at every slot lock of the folder, also of slots that the config no longer has.
  void start(const std::filesystem::path& state_dir);

 private:
  struct Orphan {
    std::filesystem::path lock;
    SlotOwner owner;
  };

  void look();
  bool is_gone(const Orphan& orphan);

  std::chrono::milliseconds limit_;
  std::function<void(WorkerId)> dead_;
  std::vector<Orphan> orphans_;
  SteadyClock::time_point deadline_;
  uv::Timer timer_;
};

}  // namespace pgflow::supervisor
