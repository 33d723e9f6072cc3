// One thread's event loop. It outlives every owner of a handle, proves that on its end, and carries
// exceptions of callbacks out to the caller of run().
#pragma once

#include <chrono>
#include <exception>
#include <thread>
#include <utility>

struct uv_loop_s;

namespace pgflow::uv {

class Loop {
 public:
  Loop();
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // Until stop() is called or nothing is left to wait for. Rethrows what a callback threw.
  void run();
  void stop();

  // One round: until a callback was called, or only those that are due. False: nothing is left to
  // wait for.
  bool run_once();
  bool poll();

  std::chrono::milliseconds now() const;  // the loop's monotonic clock, as of this round

  // Debug builds: a bug if called from another thread than the one that runs the loop.
  void assert_owned() const;
  // From now on this thread runs the loop; the caller sees to it that no other does.
  void adopt() { owner_ = std::this_thread::get_id(); }

  uv_loop_s* raw() const { return loop_; }

 private:
  friend class Background;
  template <class F>
  friend void guarded(Loop& loop, F&& callback) noexcept;

  bool run_in(int mode);
  void called() noexcept;
  void keep(std::exception_ptr thrown) noexcept;

  uv_loop_s* loop_;
  std::thread::id owner_ = std::this_thread::get_id();
  std::exception_ptr thrown_;
  bool in_one_round_ = false;
  int jobs_ = 0;  // Background jobs not yet answered
};

// The way every C callback enters C++: nothing unwinds through C.
template <class F>
void guarded(Loop& loop, F&& callback) noexcept {
  loop.called();
  try {
    std::forward<F>(callback)();
  } catch (...) {
    loop.keep(std::current_exception());
  }
}

// A libuv return code that can only be a bug or an exhausted machine.
void check(int result, const char* doing);

}  // namespace pgflow::uv
