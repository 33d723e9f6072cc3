// Owners of libuv handles: the owner may die at once, the memory lives until libuv has closed it.
#pragma once

#include <uv.h>

#include <memory>

#include "uv/loop.hpp"

namespace pgflow::uv {

template <class H>
struct CloseThenDelete {
  void operator()(H* handle) const noexcept {
    handle->data = nullptr;
    uv_close(reinterpret_cast<uv_handle_t*>(handle), [](uv_handle_t* closed) {
      delete reinterpret_cast<H*>(closed);
    });
  }
};

template <class H>
using Handle = std::unique_ptr<H, CloseThenDelete<H>>;

// Makes a handle with `init(H*) -> int`, libuv's return code; a failure there is out of descriptors
// or a wrong argument, and neither has a way on.
template <class H, class Init>
Handle<H> make_handle(void* owner, Init init) {
  auto raw = std::make_unique<H>();
  check(init(raw.get()), "making a handle");
  raw->data = owner;
  return Handle<H>(raw.release());
}

}  // namespace pgflow::uv
