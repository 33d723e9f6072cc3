// What it means for a worker or a supervisor that the database says no.
#pragma once

#include "base/exit_code.hpp"
#include "base/result.hpp"

namespace pgflow::store {

// Of an error that does not pass by itself.
ExitCode exit_code_of(const Error& error);

// Says how to grant a right that is missing.
Error with_hint(Error error);

}  // namespace pgflow::store
