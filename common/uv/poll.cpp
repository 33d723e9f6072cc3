// uv_poll_t behind a C++ door.
#include "uv/poll.hpp"

namespace pgflow::uv {

Poll::Poll(Loop& loop, int fd, std::function<void(Ready)> on_ready)
    : loop_(loop),
      on_ready_(std::move(on_ready)),
      handle_(make_handle<uv_poll_t>(this, [&](uv_poll_t* poll) {
        return uv_poll_init(loop.raw(), poll, fd);
      })) {}

void Poll::watch(bool readable, bool writable) {
  loop_.assert_owned();
  // A peer that hangs up is reported as readable, too: the reader finds the end of the stream.
  const int events = (readable ? UV_READABLE | UV_DISCONNECT : 0) | (writable ? UV_WRITABLE : 0);
  if (events == events_) return;
  if (events == 0) return stop();
  events_ = events;
  check(uv_poll_start(handle_.get(), events, on_poll), "watching a descriptor");
}

void Poll::stop() {
  uv_poll_stop(handle_.get());
}

void Poll::on_poll(uv_poll_t* handle, int status, int events) noexcept {
  auto* self = static_cast<Poll*>(handle->data);
  // libuv has stopped watching by itself.
  if (status < 0) self->events_ = 0;
  const Ready ready{
      .readable = (events & (UV_READABLE | UV_DISCONNECT)) != 0,
      .writable = (events & UV_WRITABLE) != 0,
      .failed = status < 0,
  };
  guarded(self->loop_, [call = self->on_ready_, ready] { call(ready); });
}

}  // namespace pgflow::uv
