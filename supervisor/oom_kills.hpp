// Which kills were the kernel's, because memory ran out: it counts them for each control group, and
// tells of each only that number.
#pragma once

#include <cstdint>
#include <filesystem>

namespace pgflow::supervisor {

class OomKills {
 public:
  // `events`: the group's memory.events; no such file: no kill is ever the kernel's.
  explicit OomKills(std::filesystem::path events);

  // Every second. A kill that no worker's death has claimed by the second one after it was of
  // something else in the group, a handler's child.
  void tick();
  // Of a worker that died of SIGKILL: whether there is a kill to explain it.
  bool claim();

 private:
  std::uint64_t count() const;

  const std::filesystem::path events_;
  std::uint64_t claimed_;
  std::uint64_t last_tick_;
};

// Of this process's own control group (version 2); empty: it has none.
std::filesystem::path own_memory_events();

}  // namespace pgflow::supervisor
