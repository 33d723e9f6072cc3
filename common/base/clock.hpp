// Times in the forms that logs, reports and people read.
#pragma once

#include <chrono>
#include <string>

namespace pgflow {

using SteadyClock = std::chrono::steady_clock;  // durations and deadlines
using WallClock = std::chrono::system_clock;    // what is shown or stored

// "2026-01-31T12:00:00.123456Z"
std::string rfc3339(WallClock::time_point time);

// "850ms", "4.2s", "3m05s", "2h07m"
std::string human_duration(std::chrono::milliseconds duration);

}  // namespace pgflow
