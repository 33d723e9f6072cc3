// How much, how long and how often, for both kinds of command.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string_view>

#include <pgflow/context.hpp>

#include "base/backoff.hpp"
#include "worker/command.hpp"

namespace pgflow::worker {

// Of a task's output, and of a line of a persistent command.
inline constexpr std::size_t kMostOutput = 64U << 20U;
// A worker that ends has 5 s for its handlers before it gives their tasks back.
inline constexpr std::chrono::milliseconds kMostGraceAtShutdown{4'000};

// From the first, polite stop to the kill.
inline std::chrono::milliseconds patience(const Command& command, const detail::Call& call) {
  const bool timeout = !call.stop_reason || call.stop_reason->load() == StopReason::timeout;
  return timeout ? command.grace : std::min(command.grace, kMostGraceAtShutdown);
}

// Between two tries to start a command while the system has no room for it.
inline constexpr Backoff::Limits kNoRoomPauses{
    .first = std::chrono::milliseconds(100),
    .most = std::chrono::milliseconds(5'000),
    .least = std::chrono::milliseconds(20),
};

inline void warn_of_no_room(const detail::Call& call, std::string_view why, int tries) {
  call.log->warn(
      "command.no_room", kv("step", call.task->step_slug), kv("tries", tries), kv("error", why)
  );
}

}  // namespace pgflow::worker
