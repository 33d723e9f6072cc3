// The threads that run handlers; a thread owns nothing but the task in hand and its own resources.
#pragma once

#include <pgflow/context.hpp>

#include <condition_variable>
#include <deque>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace pgflow::worker {

// One handler thread's resources, made on its first task. What a factory throws fails that task's
// attempt only; the thread's next task tries again.
class LazyResources {
 public:
  explicit LazyResources(const detail::Resources& lent) : lent_(lent) {}

  const std::vector<detail::Bound>& bound() {
    if (!made_) made_.emplace(lent_);
    return made_->bound();
  }

 private:
  const detail::Resources& lent_;
  std::optional<detail::ThreadResources> made_;
};

class HandlerPool {
 public:
  // Must not throw.
  using Job = std::function<void(LazyResources&)>;

  // `size` threads are kept for reuse; all but the first start when there is work for them.
  HandlerPool(detail::Resources resources, int size);
  // Waits for every job: a process with a handler that never ends must not come here.
  ~HandlerPool();
  HandlerPool(const HandlerPool&) = delete;
  HandlerPool& operator=(const HandlerPool&) = delete;

  // Runs the job at once, on a free thread or a new one: how many tasks run is the worker's
  // decision. False when the system has no more threads: then it runs as soon as a handler ends.
  bool submit(Job job);

  // Threads above `size` leave when they have nothing to do.
  void resize(int size);

  // Jobs not yet ended.
  int busy() const;

 private:
  void start_thread();
  void work(std::list<std::thread>::iterator self);
  void join_left(std::unique_lock<std::mutex>& lock);

  // Immutable after construction.
  const detail::Resources resources_;

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  // Guarded by mutex_.
  std::deque<Job> jobs_;
  std::list<std::thread> threads_;
  std::list<std::thread> leaving_;
  std::list<std::thread> left_;  // ended, not yet joined
  int size_;
  int busy_ = 0;
  bool closing_ = false;
  bool told_no_threads_ = false;
};

}  // namespace pgflow::worker
