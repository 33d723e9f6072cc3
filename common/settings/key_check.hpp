// First half of validation: every key known, every value of its kind and within its limits, by the
// rows of keys.hpp alone.
#pragma once

#include "settings/problem.hpp"

namespace pgflow::settings {

void check_keys(const json::Value& root, Problems& problems);

}  // namespace pgflow::settings
