// What stands between a connection and the first claim: the schema, the flow, the registration.
#pragma once

#include <functional>

#include "pg/connection.hpp"
#include "worker/identity.hpp"

namespace pgflow::worker {

// Checks the schema's version, compiles or verifies the flow, then registers the worker, in this
// order: a worker that does not fit leaves no trace. May be run again after a lost connection.
void start_up(
    pg::Connection& connection,
    const detail::WorkerPlan& plan,
    const Identity& identity,
    std::function<void(const Result<void>&)> done
);

}  // namespace pgflow::worker
