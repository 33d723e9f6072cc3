// uv_timer_t behind a C++ door.
#include "uv/timer.hpp"

#include <algorithm>

namespace pgflow::uv {
namespace {

std::uint64_t count_of(std::chrono::milliseconds duration) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, duration.count()));
}

}  // namespace

Timer::Timer(Loop& loop, std::function<void()> on_time)
    : loop_(loop),
      on_time_(std::move(on_time)),
      handle_(make_handle<uv_timer_t>(this, [&](uv_timer_t* timer) {
        return uv_timer_init(loop.raw(), timer);
      })) {}

void Timer::start(std::chrono::milliseconds delay, std::chrono::milliseconds repeat) {
  loop_.assert_owned();
  // The loop's clock stands still during a round; without this a delay would count from the round's
  // start.
  uv_update_time(loop_.raw());
  check(
      uv_timer_start(handle_.get(), on_timer, count_of(delay), count_of(repeat)), "starting a timer"
  );
}

void Timer::stop() {
  uv_timer_stop(handle_.get());
}

bool Timer::is_running() const {
  return uv_is_active(reinterpret_cast<const uv_handle_t*>(handle_.get())) != 0;
}

void Timer::unref() {
  uv_unref(reinterpret_cast<uv_handle_t*>(handle_.get()));
}

void Timer::on_timer(uv_timer_t* handle) noexcept {
  auto* self = static_cast<Timer*>(handle->data);
  // A copy: the callback may destroy this timer.
  guarded(self->loop_, [call = self->on_time_] { call(); });
}

}  // namespace pgflow::uv
