#include "worker/handler_pool.hpp"

#include <system_error>
#include <utility>

#include "log/log.hpp"

namespace pgflow::worker {

HandlerPool::HandlerPool(detail::Resources resources, int size)
    : resources_(std::move(resources)), size_(size) {
  // Never without one: what is submitted while the system has no more threads waits for it.
  const std::lock_guard lock(mutex_);
  start_thread();
}

HandlerPool::~HandlerPool() {
  std::unique_lock lock(mutex_);
  closing_ = true;
  wake_.notify_all();
  wake_.wait(lock, [&] { return threads_.empty() && leaving_.empty(); });
  join_left(lock);
}

bool HandlerPool::submit(Job job) {
  std::unique_lock lock(mutex_);
  join_left(lock);
  jobs_.push_back(std::move(job));
  ++busy_;
  wake_.notify_one();
  try {
    while (static_cast<int>(threads_.size()) < busy_) start_thread();
  } catch (const std::system_error& error) {
    if (!std::exchange(told_no_threads_, true)) {
      log::warn(
          "handlers.no_thread",
          {{"threads", threads_.size()},
           {"error", error.what()},
           {"hint", "A limit of processes (ulimit -u, pids.max): handlers wait for each other."}}
      );
    }
    return false;
  }
  told_no_threads_ = false;
  return true;
}

void HandlerPool::start_thread() {
  const auto self = threads_.emplace(threads_.end());
  try {
    *self = std::thread([this, self] { work(self); });
  } catch (...) {
    threads_.erase(self);
    throw;
  }
}

void HandlerPool::resize(int size) {
  std::unique_lock lock(mutex_);
  size_ = size;
  wake_.notify_all();
  join_left(lock);
}

int HandlerPool::busy() const {
  const std::lock_guard lock(mutex_);
  return busy_;
}

void HandlerPool::work(std::list<std::thread>::iterator self) {
  std::optional<LazyResources> resources(resources_);
  std::unique_lock lock(mutex_);
  const auto surplus = [&] { return closing_ || static_cast<int>(threads_.size()) > size_; };
  while (true) {
    wake_.wait(lock, [&] { return !jobs_.empty() || surplus(); });
    if (jobs_.empty()) break;
    Job job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    job(*resources);
    job = nullptr;  // what it holds dies before the thread counts as free
    lock.lock();
    --busy_;
  }
  // Not counted as a thread from here on; joined only when its resources are gone, because their
  // destructors are the user's and may take their time.
  leaving_.splice(leaving_.end(), threads_, self);
  lock.unlock();
  resources.reset();
  lock.lock();
  left_.splice(left_.end(), leaving_, self);
  wake_.notify_all();
}

void HandlerPool::join_left(std::unique_lock<std::mutex>& lock) {
  std::list<std::thread> left = std::move(left_);
  left_.clear();
  lock.unlock();
  for (std::thread& thread : left) thread.join();
  lock.lock();
}

}  // namespace pgflow::worker
