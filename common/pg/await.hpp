// For programs that ask one thing and end: runs the loop until the answer is there.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "uv/timer.hpp"

namespace pgflow::pg {

// `start` gets the callback to hand on. After the deadline the answer is kind "timeout"; a late
// callback is ignored.
//
//   await<Rows>(loop, 10s, [&](auto done) { connection.query(kQuery, {}, done); })
template <class T, class Start>
Result<T> await(uv::Loop& loop, std::chrono::milliseconds deadline, Start start) {
  const auto answer = std::make_shared<std::optional<Result<T>>>();
  bool late = false;
  uv::Timer timer(loop, [&late] { late = true; });
  timer.start(deadline);
  // By reference: taking a value, g++ 12 warns at -O3 of a free that does not happen.
  start([answer](Result<T>&& result) { answer->emplace(std::move(result)); });
  while (!answer->has_value() && !late) loop.run_once();
  if (answer->has_value()) return std::move(**answer);
  return fail({.kind = "timeout", .message = "No answer within " + human_duration(deadline) + "."});
}

}  // namespace pgflow::pg
