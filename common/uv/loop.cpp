// The loop's end is a proof: every handle was closed by its owner.
#include "uv/loop.hpp"

#include <uv.h>

#include <cstdio>
#include <string>

#include "base/bug.hpp"

namespace pgflow::uv {

Loop::Loop() : loop_(new uv_loop_t) {
  check(uv_loop_init(loop_), "making a loop");
}

Loop::~Loop() {
  // A job that runs in libuv's pool cannot be called back; its answer is awaited and dropped.
  while (jobs_ > 0) uv_run(loop_, UV_RUN_ONCE);
  // Closing handles report in the next round; a few rounds, because uv_stop() swallows one. Waiting
  // for more would hang on a leaked handle instead of telling.
  constexpr int kRounds = 4;
  int result = UV_EBUSY;
  for (int round = 0; round < kRounds && result == UV_EBUSY; ++round) {
    uv_run(loop_, UV_RUN_NOWAIT);
    result = uv_loop_close(loop_);
  }
  if (result != 0) {
    uv_print_all_handles(loop_, stderr);
    PGFLOW_BUG("a handle outlived its loop");
  }
  delete loop_;
}

void Loop::run() {
  run_in(UV_RUN_DEFAULT);
}

void Loop::stop() {
  uv_stop(loop_);
}

bool Loop::run_once() {
  in_one_round_ = true;
  return run_in(UV_RUN_ONCE);
}

bool Loop::poll() {
  return run_in(UV_RUN_NOWAIT);
}

std::chrono::milliseconds Loop::now() const {
  return std::chrono::milliseconds(static_cast<std::int64_t>(uv_now(loop_)));
}

void Loop::assert_owned() const {
#ifndef NDEBUG
  if (std::this_thread::get_id() != owner_) PGFLOW_BUG("a loop was touched by a foreign thread");
#endif
}

bool Loop::run_in(int mode) {
  owner_ = std::this_thread::get_id();
  const int alive = uv_run(loop_, static_cast<uv_run_mode>(mode));
  in_one_round_ = false;
  if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
  return alive != 0;
}

void Loop::called() noexcept {
  // A round fires due timers first and would go on to wait for the next event all the same.
  if (in_one_round_) uv_stop(loop_);
}

void Loop::keep(std::exception_ptr thrown) noexcept {
  // The first one is the cause; later ones of the same round are its echo.
  if (!thrown_) thrown_ = std::move(thrown);
  uv_stop(loop_);
}

void check(int result, const char* doing) {
  if (result < 0) {
    const std::string text = std::string("libuv failed ") + doing + ": " + uv_strerror(result);
    PGFLOW_BUG(text);
  }
}

}  // namespace pgflow::uv
