// Result<T>: what a function returns when the world may fail it (style: definition mistakes throw,
// bugs abort).
#pragma once

#include <pgflow/error.hpp>
#include <tl/expected.hpp>
#include <utility>

namespace pgflow {

template <class T>
using Result = tl::expected<T, Error>;

// `return fail({.kind = "…", .message = "…"});`
inline tl::unexpected<Error> fail(Error error) {
  return tl::unexpected<Error>(std::move(error));
}

}  // namespace pgflow
