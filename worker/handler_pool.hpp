// The threads that run handlers; a thread owns nothing but the task in hand and its own resources.
#pragma once

#include <pgflow/context.hpp>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <vector>

namespace pgflow::worker {

// One handler thread's resources, made on its first task. What a factory throws fails that task's
// attempt only; the thread's next task tries again.
class LazyResources {
 public:
  explicit LazyResources(const detail::Resources& lent, std::size_t place = 0)
      : lent_(lent), place_(place) {}

  // The thread's number; no other thread has it as long as this one lives.
  std::size_t place() const { return place_; }

  const std::vector<detail::Bound>& bound() {
    if (!made_) made_.emplace(lent_);
    return made_->bound();
  }

 private:
  const detail::Resources& lent_;
  const std::size_t place_;
  std::optional<detail::ThreadResources> made_;
};

class HandlerPool {
 public:
  // Must not throw.
  using Job = std::function<void(LazyResources&)>;
  using Ticket = std::uint64_t;

  // At most `size` queued jobs run at once; so many threads are kept for reuse. They start when
  // there is work for them.
  HandlerPool(detail::Resources resources, int size);
  // Waits for every job: a process with a handler that never ends must not come here.
  ~HandlerPool();
  HandlerPool(const HandlerPool&) = delete;
  HandlerPool& operator=(const HandlerPool&) = delete;

  // Runs the job at once, on a free thread or a new one, whatever else runs. False when the system
  // has no more threads: then it runs as soon as a handler ends.
  bool submit(Job job);

  // Runs it in its turn.
  void queue(Ticket ticket, Job job);
  // The queued jobs that have not begun; they never will.
  std::vector<Ticket> take_back();

  // Threads above `size` leave when they have nothing to do.
  void resize(int size);

  // Jobs that run, and submitted ones that are about to.
  int busy() const;

 private:
  struct Waiting {
    Ticket ticket;
    Job job;
  };

  bool call();  // mutex_ is held, as for the next two
  void start_thread();
  void call_for_waiting();
  // Threads that run a job or are about to look for one.
  int awake() const { return static_cast<int>(threads_.size()) - idle_ + called_; }
  bool may_begin() const { return !waiting_.empty() && running_ < size_; }
  void work(std::list<std::thread>::iterator self, std::size_t place);
  void join_left(std::unique_lock<std::mutex>& lock);

  // Immutable after construction.
  const detail::Resources resources_;

  mutable std::mutex mutex_;
  std::condition_variable wake_;   // idle threads
  std::condition_variable ended_;  // the destructor
  // Guarded by mutex_.
  std::deque<Job> urgent_;
  std::deque<Waiting> waiting_;
  std::list<std::thread> threads_;
  std::list<std::thread> leaving_;
  std::list<std::thread> left_;  // ended, not yet joined
  std::set<std::size_t> free_places_;
  std::size_t places_ = 0;
  int size_;
  int running_ = 0;  // queued jobs that have begun
  int busy_ = 0;
  int idle_ = 0;    // threads that wait for a call
  int called_ = 0;  // of them, those that have been called
  bool closing_ = false;
  bool told_no_threads_ = false;
};

}  // namespace pgflow::worker
