// Second half of validation: reads the values into the structs and checks what a row of keys.hpp
// cannot say. A value of a wrong kind was reported by the first half and is read as its default.
#pragma once

#include "settings/load.hpp"
#include "settings/problem.hpp"

namespace pgflow::settings {

void fill(
    Settings& settings, const json::Value& root, Problems& problems, const Overrides& overrides
);

// Only settings.database; none named is no problem.
void fill_database(Settings& settings, const json::Value& root, Problems& problems);

// Only settings.supervisor; no environment variable is missed.
void fill_supervisor(Settings& settings, const json::Value& root, Problems& problems);

}  // namespace pgflow::settings
