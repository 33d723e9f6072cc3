// uv_signal_t behind a C++ door.
#include "uv/signal.hpp"

namespace pgflow::uv {

Signal::Signal(Loop& loop, int number, std::function<void(int)> on_signal)
    : loop_(loop),
      on_signal_(std::move(on_signal)),
      handle_(make_handle<uv_signal_t>(this, [&](uv_signal_t* signal) {
        return uv_signal_init(loop.raw(), signal);
      })) {
  check(uv_signal_start(handle_.get(), Signal::on_signal, number), "watching a signal");
  uv_unref(reinterpret_cast<uv_handle_t*>(handle_.get()));
}

void Signal::on_signal(uv_signal_t* handle, int number) noexcept {
  auto* self = static_cast<Signal*>(handle->data);
  guarded(self->loop_, [call = self->on_signal_, number] { call(number); });
}

}  // namespace pgflow::uv
