// The names that a flow's queues may have (sql-core 4.2), lower case by ASCII rules: with a Turkish
// locale a library's lower('I') would not be i.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace pgflow {

std::string default_queue_name(std::string_view flow);
// The two candidates for a step's private queue.
std::string readable_queue_name(std::string_view flow, std::string_view step);
std::string fallback_queue_name(std::string_view flow, std::size_t step_index);

}  // namespace pgflow
