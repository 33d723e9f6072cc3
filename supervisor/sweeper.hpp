// Kills what dead workers leave running, before their tasks are given to anybody: one look at the
// machine's processes for all that died together, until nothing is left.
#pragma once

#include <functional>
#include <vector>

#include "base/clock.hpp"
#include "supervisor/process_tree.hpp"
#include "uv/timer.hpp"

namespace pgflow::supervisor {

class Sweeper {
 public:
  explicit Sweeper(uv::Loop& loop);
  Sweeper(const Sweeper&) = delete;
  Sweeper& operator=(const Sweeper&) = delete;

  // `swept` is called in a later turn of the loop, when nothing is left or cannot be killed.
  void sweep(Remains remains, std::function<void()> swept);

 private:
  void look();

  struct Death {
    Remains remains;
    SteadyClock::time_point given_up_at;
    std::function<void()> swept;
  };
  std::vector<Death> deaths_;
  uv::Timer timer_;
};

}  // namespace pgflow::supervisor
