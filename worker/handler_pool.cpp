#include "worker/handler_pool.hpp"

#include <system_error>
#include <utility>

#include "log/log.hpp"

namespace pgflow::worker {

HandlerPool::HandlerPool(detail::Resources resources, int size)
    : resources_(std::move(resources)), size_(size) {
  const std::lock_guard lock(mutex_);
  start_thread();
}

HandlerPool::~HandlerPool() {
  std::unique_lock lock(mutex_);
  closing_ = true;
  wake_.notify_all();
  ended_.wait(lock, [&] { return threads_.empty() && leaving_.empty(); });
  join_left(lock);
}

bool HandlerPool::submit(Job job) {
  std::unique_lock lock(mutex_);
  join_left(lock);
  urgent_.push_back(std::move(job));
  ++busy_;
  return awake() >= busy_ || call();
}

void HandlerPool::queue(Ticket ticket, Job job) {
  const std::lock_guard lock(mutex_);
  waiting_.push_back({ticket, std::move(job)});
  call_for_waiting();
}

std::vector<HandlerPool::Ticket> HandlerPool::take_back() {
  const std::lock_guard lock(mutex_);
  std::vector<Ticket> tickets;
  tickets.reserve(waiting_.size());
  for (const Waiting& each : waiting_) tickets.push_back(each.ticket);
  waiting_.clear();
  return tickets;
}

void HandlerPool::resize(int size) {
  std::unique_lock lock(mutex_);
  size_ = size;
  call_for_waiting();
  wake_.notify_all();
  join_left(lock);
}

int HandlerPool::busy() const {
  const std::lock_guard lock(mutex_);
  return busy_;
}

// One thread is called at a time, and the next by the one that takes a job: jobs of microseconds
// are over before the second thread is awake, and few threads do them all.
void HandlerPool::call_for_waiting() {
  if (may_begin() && awake() <= busy_) call();
}

// One more thread comes and takes what is there. False: the system has no more.
bool HandlerPool::call() {
  if (called_ < idle_) {
    ++called_;
    wake_.notify_one();
    return true;
  }
  try {
    start_thread();
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
  const std::size_t place = free_places_.empty() ? places_ : *free_places_.begin();
  try {
    *self = std::thread([this, self, place] { work(self, place); });
  } catch (...) {
    threads_.erase(self);
    throw;
  }
  if (place == places_) ++places_;
  free_places_.erase(place);
}

void HandlerPool::work(std::list<std::thread>::iterator self, std::size_t place) {
  std::optional<LazyResources> resources(std::in_place, resources_, place);
  std::unique_lock lock(mutex_);
  const auto surplus = [&] { return closing_ || static_cast<int>(threads_.size()) > size_; };
  while (true) {
    const bool is_urgent = !urgent_.empty();
    if (!is_urgent && !may_begin()) {
      if (surplus()) break;
      ++idle_;
      wake_.wait(lock, [&] { return called_ > 0 || surplus(); });
      --idle_;
      if (called_ > 0) --called_;
      continue;
    }
    Job job;
    if (is_urgent) {
      job = std::move(urgent_.front());
      urgent_.pop_front();
    } else {
      job = std::move(waiting_.front().job);
      waiting_.pop_front();
      ++running_;
      ++busy_;
      call_for_waiting();
    }
    lock.unlock();
    job(*resources);
    job = nullptr;  // what it holds dies before the thread counts as free
    lock.lock();
    --busy_;
    if (!is_urgent) --running_;
  }
  // Not counted as a thread from here on; joined only when its resources are gone, because their
  // destructors are the user's and may take their time.
  leaving_.splice(leaving_.end(), threads_, self);
  lock.unlock();
  resources.reset();
  lock.lock();
  free_places_.insert(place);
  left_.splice(left_.end(), leaving_, self);
  ended_.notify_all();
}

void HandlerPool::join_left(std::unique_lock<std::mutex>& lock) {
  std::list<std::thread> left = std::move(left_);
  left_.clear();
  lock.unlock();
  for (std::thread& thread : left) thread.join();
  lock.lock();
}

}  // namespace pgflow::worker
