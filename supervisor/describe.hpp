// Asks a worker program what its flow is.
#pragma once

#include <chrono>
#include <functional>

#include "base/result.hpp"
#include "contract/manifest.hpp"
#include "settings/settings.hpp"
#include "uv/loop.hpp"

namespace pgflow::supervisor {

inline constexpr std::chrono::seconds kDescribeLimit{10};

// Runs `<command> --pgflow-describe <slug>` and the loop until it answers or `give_up` says so.
// Error kinds: "bad_manifest" and "manifest_too_new" (the answer), "describe_failed" (no answer:
// the program's own words are the detail), "no_program", "stopped".
Result<contract::Manifest> describe(
    uv::Loop& loop, const settings::FlowSettings& flow, const std::function<bool()>& give_up
);

}  // namespace pgflow::supervisor
