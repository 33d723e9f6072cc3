// First half of validation: every key known, every value of its kind and within its limits, by the
// rows of its format alone.
#pragma once

#include "settings/keys.hpp"
#include "settings/problem.hpp"

namespace pgflow::settings {

void check_keys(const json::Value& root, const FileFormat& format, Problems& problems);

}  // namespace pgflow::settings
