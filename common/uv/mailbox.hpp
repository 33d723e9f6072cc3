// The only door into a loop for other threads.
#pragma once

#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include "uv/handle.hpp"

namespace pgflow::uv {

// Wakes the loop from any thread. Rings before the callback ran count as one.
class Doorbell {
 public:
  Doorbell(Loop& loop, std::function<void()> on_ring);
  Doorbell(const Doorbell&) = delete;
  Doorbell& operator=(const Doorbell&) = delete;

  void ring();   // any thread
  void close();  // loop thread; later rings are silent

 private:
  static void on_async(uv_async_t* handle) noexcept;

  Loop& loop_;
  std::function<void()> on_ring_;
  // Ringing and closing share one mutex: a send to a handle that is being closed would touch freed
  // memory.
  std::mutex mutex_;
  Handle<uv_async_t> handle_;  // Guarded by mutex_.
};

// Messages from any thread, handed to the loop thread in the order they came, all that wait at
// once. Destroy it after the threads that post are joined.
template <class T>
class Mailbox {
 public:
  Mailbox(Loop& loop, std::function<void(std::vector<T>)> on_mail)
      : on_mail_(std::move(on_mail)), bell_(loop, [this] { deliver(); }) {}

  // Any thread. False after close(): the message is dropped.
  bool post(T message) {
    {
      const std::lock_guard lock(mutex_);
      if (closed_) return false;
      waiting_.push_back(std::move(message));
    }
    bell_.ring();
    return true;
  }

  // Loop thread. What waits undelivered is dropped.
  void close() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
      waiting_.clear();
    }
    bell_.close();
  }

 private:
  void deliver() {
    std::vector<T> mail;
    {
      const std::lock_guard lock(mutex_);
      mail.swap(waiting_);
    }
    if (!mail.empty()) on_mail_(std::move(mail));
  }

  std::function<void(std::vector<T>)> on_mail_;
  std::mutex mutex_;
  std::vector<T> waiting_;  // Guarded by mutex_.
  bool closed_ = false;     // Guarded by mutex_.
  Doorbell bell_;           // Last: nothing may ring while the rest goes.
};

}  // namespace pgflow::uv
