// Fences, from the side of a supervisor: it says that it lives, hears which stand, and
// acknowledges.
#pragma once

#include <string>
#include <vector>

#include "store/answer.hpp"

namespace pgflow::store {

// One start of a supervisor.
struct SupervisorRow {
  std::string generation;  // a UUID
  std::string name;
  std::string host_id;
  int pid = 0;
  std::vector<std::string> function_names{};  // of its pools' workers
};

struct StandingFence {
  std::string fence_id;
  std::vector<std::string> function_names;  // the whole set, sorted
  std::string owner, reason;
  bool acked = false;  // by this supervisor
  friend bool operator==(const StandingFence&, const StandingFence&) = default;
};

class FenceStore {
 public:
  explicit FenceStore(pg::Connection& connection) : connection_(connection) {}

  // Answers the fences that stand around the row's functions, the oldest first.
  void heartbeat(const SupervisorRow& row, Answer<std::vector<StandingFence>> answer);
  // False: the fence does not stand any more.
  void ack(const std::string& fence_id, const std::string& generation, Answer<bool> answer);
  void mark_stopped(const std::string& generation, Answer<void> answer);

 private:
  pg::Connection& connection_;
};

}  // namespace pgflow::store
