// How much and how long, for both kinds of command.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>

#include <pgflow/context.hpp>

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

}  // namespace pgflow::worker
