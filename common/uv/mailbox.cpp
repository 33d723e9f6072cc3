// uv_async_t behind a C++ door.
#include "uv/mailbox.hpp"

namespace pgflow::uv {

Doorbell::Doorbell(Loop& loop, std::function<void()> on_ring)
    : loop_(loop),
      on_ring_(std::move(on_ring)),
      handle_(make_handle<uv_async_t>(this, [&](uv_async_t* async) {
        return uv_async_init(loop.raw(), async, on_async);
      })) {}

void Doorbell::ring() {
  const std::lock_guard lock(mutex_);
  if (handle_) check(uv_async_send(handle_.get()), "waking a loop");
}

void Doorbell::close() {
  const std::lock_guard lock(mutex_);
  handle_.reset();
}

void Doorbell::on_async(uv_async_t* handle) noexcept {
  auto* self = static_cast<Doorbell*>(handle->data);
  // Closed between the ring and this round.
  if (self == nullptr) return;
  guarded(self->loop_, [call = self->on_ring_] { call(); });
}

}  // namespace pgflow::uv
