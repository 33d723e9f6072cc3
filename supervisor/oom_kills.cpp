#include "supervisor/oom_kills.hpp"

#include <algorithm>
#include <fstream>
#include <string>
#include <utility>

namespace pgflow::supervisor {

OomKills::OomKills(std::filesystem::path events)
    : events_(std::move(events)), claimed_(count()), last_tick_(claimed_) {}

void OomKills::tick() {
  claimed_ = std::max(claimed_, std::exchange(last_tick_, count()));
}

bool OomKills::claim() {
  if (count() <= claimed_) return false;
  ++claimed_;
  return true;
}

std::uint64_t OomKills::count() const {
  std::ifstream events(events_);
  std::string name;
  for (std::uint64_t number = 0; events >> name >> number;) {
    if (name == "oom_kill") return number;
  }
  return 0;
}

std::filesystem::path own_memory_events() {
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    constexpr std::string_view kVersion2 = "0::/";
    if (!line.starts_with(kVersion2)) continue;
    return std::filesystem::path("/sys/fs/cgroup") / line.substr(kVersion2.size()) /
           "memory.events";
  }
  return {};
}

}  // namespace pgflow::supervisor
