// Lets workers come back to a database that was away: a few at first, then ever more.
#pragma once

#include <deque>
#include <functional>

#include "base/strong.hpp"
#include "uv/timer.hpp"

namespace pgflow::supervisor {

// A database that has just started is slow, and its connections are few: 1 worker, then 2, 4, 8, …
// every 100 ms. While the database is away everybody waits, and the supervisor's own connection is
// the only one that tries.
class Admission {
 public:
  // `admit` tells the worker; false: it is gone, its turn goes to the next.
  Admission(uv::Loop& loop, std::function<bool(WorkerId)> admit);

  void want(WorkerId worker_id);
  void open();
  void close();

 private:
  void next();

  const std::function<bool(WorkerId)> admit_;
  std::deque<WorkerId> waiting_;
  bool open_ = false;
  int at_once_ = 1;
  uv::Timer timer_;
};

}  // namespace pgflow::supervisor
